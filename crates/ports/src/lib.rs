//! What the inside needs from outside, as traits, and how that can fail.
//!
//! **Invariant:** adapters implement these and know nothing of each other; the inside calls these and knows no adapter.
//! **Absent on purpose:** behaviour. The few structs here carry facts across a border; decisions live in `homing-domain`.

pub mod agent;
pub mod clock;
pub mod crash;
pub mod directory;
pub mod inbox;
pub mod platform;
pub mod processes;
pub mod store;

pub use clock::{Clock, IdSource, SystemClock};
pub use directory::{Directory, FixedDirectory};
