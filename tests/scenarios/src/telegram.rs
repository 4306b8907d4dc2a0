//! Scenarios over Telegram: the real adapter in the gateway's process, and the strict simulator of the Bot API in the runner's.
//!
//! A scenario names places as files like to (`C1`, `17.1`); Telegram numbers them. So its people, chats and topics are made first
//! ([`Casting`], [`Stage`]), then the scenario is told with their numbers ([`Names`]), and from there on it is played like any other.
//!
//! **Invariant:** what is compared is what Telegram has: a message counts where the simulator keeps it. What it is (an answer, a notice) is not
//! written on it; the gateway's process says so before it hands a message to the adapter, and a message that it never handed over is a failure.
//! **Absent on purpose:** windows. They are the console's; what is written to them stays on the simulated platform.

mod casting;
mod door;
mod names;
mod stage;

pub use casting::{Casting, NotOfTelegram, Whose};
pub use names::Names;
pub use stage::Stage;
