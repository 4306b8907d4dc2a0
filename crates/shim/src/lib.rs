//! The run folder: what a supervisor (the shim) and a gateway tell each other, on disk, across crashes of either.
//!
//! ```text
//! <data>/run/wake             a FIFO: shims say "look again"; the gateway reads
//! <data>/run/<process id>/    0700
//!   lock                      held (flock) by the supervisor for life, from before it exists: the gateway takes it and passes it on
//!   spec                      what to run, and in which cgroup; written by the gateway before the supervisor is started
//!   control                   a FIFO: kill, close the input
//!   input                     a FIFO, only with an open standard input; removed when it is closed
//!   started                   who runs; on disk *before* the program is executed
//!   out.<offset>              kept output; the name says where in everything ever written the segment begins
//!   exit                      how it ended; written once
//!   ack                       its end is committed in the store
//! ```
//!
//! **Invariants.** Without `started`, nothing was executed. With `exit`, the program has ended and its kept output is on disk. While `lock` is
//! taken somebody still looks after it. Records are whole or not there: temporary name, fsync, rename, fsync of the folder. Parsers answer
//! with an error that names the file and the line; none of them panics.
//!
//! **Absent on purpose:** owners, the store, any async runtime, and every dependency but `libc`: all of this is inside each supervisor.

pub mod cgroup;
pub mod control;
pub mod exit;
pub mod folder;
pub mod machine;
pub mod output;
pub mod record;
pub mod spec;
pub mod started;
pub mod wake;
