//! Mutated inputs for every parser: what comes in from people, programs and disks.
//!
//! A target is a folder of seeds, `corpus/<target>`, and a check. First each seed is checked as it is: a seed is also where an input that once
//! broke something is kept. Then mutations of the seeds are checked until the time is over.
//!
//! **Invariant:** the inputs of a target are the same in every run, in the same order; a longer run only goes on further. A failed check prints its
//! input so that it can be saved as a seed.
//! **Absent on purpose:** coverage feedback and a compiler of its own. This runs wherever the tests run.

mod mutate;
mod run;

pub use mutate::{Mutator, Numbers};
pub use run::{Reading, fuzz};
