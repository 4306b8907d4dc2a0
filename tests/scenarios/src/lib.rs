//! Plays scenario files against the real gateway in a process of its own: real store, real processes, simulated platforms, and an agent that
//! does what the scenario says: by itself, or the real one of OpenAI-compatible servers, whose server does.
//!
//! **Invariant:** a scenario fails only for what the gateway did; a file that cannot be meant is refused before anything runs.
//! **Absent on purpose:** knowledge of how the gateway works. What is compared is what a platform got, what the agent was asked, and what the
//! store holds.
//!
//! The program plays four parts, by its first argument: the runner, `host` (the gateway's process), `steer` (a background program).

pub mod agents;
pub mod check;
pub mod compare;
pub mod keys;
pub mod load;
pub mod model;
pub mod platforms;
pub mod runner;
pub mod telegram;

mod gateway_process;
pub mod host;
mod protocol;
mod scene;
pub mod steer;
mod steering;
