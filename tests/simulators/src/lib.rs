//! A platform that people could talk on, simulated: a real HTTP server on loopback that plays any number of platforms and accounts, and the
//! adapter that speaks to it.
//!
//! **Invariant:** the server is strict where a real platform is: it refuses what it does not understand, it forgets an update only when the
//! next poll's offset says that it was stored, and it never puts a message anywhere but where it was sent, unless it is told to.
//! **Absent on purpose:** anything that a real platform would not know, such as sessions or owners. A test that wants those asks the gateway.
//!
//! The server outlives gateways: it belongs to the test, the adapter to the gateway. Faults are switched on through [`Server`].

mod adapter;
mod faults;
pub mod model;
mod routes;
mod server;
pub mod telegram;
mod validate;
pub mod wire;

pub use adapter::{AddressError, Settings, SimulatedPlatform, client};
pub use faults::{Place, Which};
pub use server::{Post, Sent, Server};
