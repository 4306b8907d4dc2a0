//! What the allocator of the C library keeps for itself.
//!
//! By default glibc has up to eight arenas a processor, and a cache of freed pieces in every thread. Both are for programs with many threads on many
//! processors that do nothing but allocate. Here, where a row or a message is allocated in one thread and freed in another, they hold three times what
//! is in use, and hold more of it the longer the gateway runs: 17 MB and growing after 100,000 messages, with 6 MB in use. With one arena and
//! no such caches it is 9 MB and stays there. The store and the disk decide how fast a gateway is.
//!
//! The caches can only be set in the environment that a program is started with: see [`crate::anew`].
//! **Absent on purpose:** another allocator. Those that were measured (mimalloc, jemalloc) need more, and would be a C library to build and to trust.

/// Where glibc reads its settings. Others ignore it.
const SETTINGS: &str = "GLIBC_TUNABLES";
const ONE_ARENA_NO_CACHES: &str = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";

/// The variable to be started with. `None` if it is there already, if whoever started this program has settings of their own, or if nobody reads it.
pub fn to_be_frugal() -> Option<(&'static str, &'static str)> {
    let is_read = cfg!(target_env = "gnu") && std::env::var_os(SETTINGS).is_none();
    is_read.then_some((SETTINGS, ONE_ARENA_NO_CACHES))
}
