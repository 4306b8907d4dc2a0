//! What the allocator of the C library keeps for itself.
//!
//! By default glibc has up to eight arenas a processor, and a cache of freed pieces in every thread. Both are for programs with many threads on many
//! processors that do nothing but allocate. Here, where a row or a message is allocated in one thread and freed in another, they hold three times what
//! is in use, and hold more of it the longer the gateway runs: 17 MB and growing after 100,000 messages, with 6 MB in use. With one arena and
//! no such caches it is 9 MB and stays there. The store and the disk decide how fast a gateway is.
//!
//! **Why by starting anew:** the caches can only be set in the environment that a program is started with.
//! **Absent on purpose:** another allocator. Those that were measured (mimalloc, jemalloc) need more, and would be a C library to build and to trust.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Where glibc reads its settings. Others ignore it.
const SETTINGS: &str = "GLIBC_TUNABLES";
const ONE_ARENA_NO_CACHES: &str = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";

/// Replaces this program by itself, the same process with the same arguments and open files, with a frugal allocator. Returns if it is so already, if
/// whoever started it has settings of their own, or if it cannot be; then everything works as well, and needs more.
pub fn be_frugal() {
    if cfg!(not(target_env = "gnu")) || std::env::var_os(SETTINGS).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let mut arguments = std::env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let failed = command
        .args(arguments)
        .env(SETTINGS, ONE_ARENA_NO_CACHES)
        .exec();
    tracing::debug!(error = %failed, "the allocator keeps its usual settings");
}
