//! System calls, each as a function that cannot be called wrongly.
//!
//! **Invariant:** every descriptor made here is close-on-exec.
#![expect(
    unsafe_code,
    reason = "the calls that std does not offer: fork, wait, poll, signal masks, terminals"
)]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use homing_shim::spec::TerminalSize;
use libc::c_int;

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn owned(result: c_int) -> io::Result<OwnedFd> {
    let descriptor = checked(result)?;
    // SAFETY: only called with what a call has just opened for us.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// A close-on-exec copy, above the standard three.
pub fn move_up(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl takes integers; a bad descriptor is an error.
    owned(unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) })
}

/// Makes `target` (0, 1 or 2) another name for `source`, kept over `execve`.
pub fn become_standard(source: BorrowedFd<'_>, target: RawFd) -> io::Result<()> {
    // SAFETY: dup2 takes integers; 0, 1 and 2 are owned by nobody else here.
    checked(unsafe { libc::dup2(source.as_raw_fd(), target) }).map(drop)
}

/// Closes whatever we were given beyond the standard three.
pub fn close_inherited() {
    // SAFETY: called first of all, before anything here has opened a descriptor above 2.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, c_int::MAX, 0) };
    if result < 0 {
        let limit = open_files().map_or(1024, |limit| limit.rlim_cur.min(65_536) as c_int);
        for descriptor in 3..limit {
            // SAFETY: as above; closing one that is not open is an ignored error.
            unsafe { libc::close(descriptor) };
        }
    }
}

pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok((owned(ends[0])?, owned(ends[1])?))
}

pub fn set_nonblocking(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: fcntl with integers.
    let flags = checked(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    checked(unsafe {
        libc::fcntl(
            descriptor.as_raw_fd(),
            libc::F_SETFL,
            flags | libc::O_NONBLOCK,
        )
    })
    .map(drop)
}

/// A session of our own, and orphans of our tree come to us.
pub fn detach() -> io::Result<()> {
    // SAFETY: no arguments.
    checked(unsafe { libc::setsid() })?;
    // SAFETY: integers only.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

pub fn new_session() -> io::Result<()> {
    // SAFETY: no arguments.
    checked(unsafe { libc::setsid() }).map(drop)
}

/// Puts `pid` (0: the caller) into a process group of its own.
pub fn own_group(pid: i32) -> io::Result<()> {
    // SAFETY: integers only.
    checked(unsafe { libc::setpgid(pid, pid) }).map(drop)
}

pub fn signal_group(group: i32, signal: c_int) -> io::Result<()> {
    // SAFETY: integers only.
    checked(unsafe { libc::kill(-group, signal) }).map(drop)
}

/// Ignores what is meant for others, and gives a descriptor that becomes readable when a child ends.
pub fn prepare_signals() -> io::Result<OwnedFd> {
    for signal in [
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGPIPE,
        libc::SIGTTOU,
        libc::SIGTTIN,
        libc::SIGTSTP,
    ] {
        // SAFETY: SIG_IGN is a valid disposition for each of these.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the whole set before it is read; SIGCHLD is a valid signal.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        // A gateway started with SIGCHLD ignored would make the kernel reap for us, and take the exit code with it.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        checked(libc::sigprocmask(
            libc::SIG_SETMASK,
            set.as_ptr(),
            std::ptr::null_mut(),
        ))?;
        owned(libc::signalfd(
            -1,
            set.as_ptr(),
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        ))
    }
}

/// Every signal as the system has it, none blocked: what a program expects to be started with.
pub fn restore_signals() {
    // The C library refuses to touch the two signals that it uses itself, and an ignored one is inherited all the same: so, the kernel's own call.
    // Its struct begins with the handler; all zero is SIG_DFL without flags.
    let default = [0_u64; 8];
    for signal in 1..=64 {
        // SAFETY: the array is at least as large as the kernel's struct, which is only read. KILL and STOP are ignored errors.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null_mut::<u64>(),
                8,
            )
        };
    }
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before it is read.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Which side of a fork this is.
#[derive(Debug)]
pub enum Fork {
    Parent { child: i32 },
    Child,
}

pub fn fork() -> io::Result<Fork> {
    // SAFETY: this process has one thread, so the child may do whatever we may.
    match checked(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent { child }),
    }
}

/// As [`fork`], with the child born in the cgroup of this directory: no moment outside, and no wait for the kernel to move it.
pub fn fork_into(cgroup: BorrowedFd<'_>) -> io::Result<Fork> {
    // The kernel's `struct clone_args` up to the version that knows cgroups (5.7): eleven numbers. 1: flags, 5: the signal at its end, 11: cgroup.
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    let mut arguments = [0_u64; 11];
    arguments[0] = CLONE_INTO_CGROUP;
    arguments[4] = libc::SIGCHLD as u64;
    arguments[10] = cgroup.as_raw_fd() as u64;
    // SAFETY: this process has one thread, and without a stack of its own the child gets a copy of everything, as by fork.
    let result = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            arguments.as_ptr(),
            size_of_val(&arguments),
        )
    };
    match checked(result as c_int)? {
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent { child }),
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy)]
pub enum Reaped {
    Child {
        pid: i32,
        ending: ChildEnding,
    },
    /// Children there are, none has ended.
    NoneYet,
    NoChildren,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildEnding {
    Code(i32),
    Signal(i32),
}

pub fn reap() -> io::Result<Reaped> {
    let mut status = 0;
    // SAFETY: the status is a valid place for an int.
    match checked(unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) }) {
        Ok(0) => Ok(Reaped::NoneYet),
        Ok(pid) if libc::WIFSIGNALED(status) => Ok(Reaped::Child {
            pid,
            ending: ChildEnding::Signal(libc::WTERMSIG(status)),
        }),
        Ok(pid) => Ok(Reaped::Child {
            pid,
            ending: ChildEnding::Code(libc::WEXITSTATUS(status)),
        }),
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(Reaped::NoChildren),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Reaped::NoneYet),
        Err(error) => Err(error),
    }
}

pub fn open_files() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the struct is a valid place for the answer.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    Ok(limit)
}

pub fn set_open_files(soft: u64) -> io::Result<()> {
    let limit = open_files()?;
    let wanted = libc::rlimit {
        rlim_cur: soft.min(limit.rlim_max),
        ..limit
    };
    // SAFETY: the struct is initialised.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) }).map(drop)
}

/// A new terminal: the side we hold, and the side the program gets.
pub fn open_terminal(size: TerminalSize) -> io::Result<(OwnedFd, OwnedFd)> {
    // SAFETY: flags only.
    let ours =
        owned(unsafe { libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC) })?;
    // SAFETY: a terminal's master side that we own.
    checked(unsafe { libc::grantpt(ours.as_raw_fd()) })?;
    // SAFETY: as above.
    checked(unsafe { libc::unlockpt(ours.as_raw_fd()) })?;
    let window = libc::winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the struct is initialised and outlives the call.
    checked(unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCSWINSZ, &raw const window) })?;
    // By number, not by name: `/dev/pts` may be another one in a container. SAFETY: flags only, on our master.
    let theirs = owned(unsafe {
        libc::ioctl(
            ours.as_raw_fd(),
            libc::TIOCGPTPEER,
            libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC,
        )
    })?;
    Ok((ours, theirs))
}

pub fn take_controlling_terminal(terminal: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: integers only, on a terminal that outlives the call.
    checked(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0) }).map(drop)
}

/// Replaces this process. Only returns with what went wrong.
pub fn execute(path: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| {
        strings
            .iter()
            .map(|one| one.as_ptr())
            .chain([std::ptr::null()])
            .collect::<Vec<_>>()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer and outlive the call, as do the strings in them.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends this process without running anything of what its parent had planned.
pub fn leave() -> ! {
    // SAFETY: never returns and touches nothing.
    unsafe { libc::_exit(127) }
}

/// Waits until one of them is ready, or so many milliseconds; -1 for ever.
pub fn poll(descriptors: &mut [libc::pollfd], timeout_ms: c_int) -> io::Result<()> {
    // SAFETY: the slice is valid for its length.
    match checked(unsafe {
        libc::poll(
            descriptors.as_mut_ptr(),
            descriptors.len() as libc::nfds_t,
            timeout_ms,
        )
    }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        other => other.map(drop),
    }
}

fn clock(which: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is a valid place for the answer; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(which, &raw mut time) };
    time.tv_sec as u64 * 1_000 + time.tv_nsec as u64 / 1_000_000
}

/// Milliseconds since some fixed moment; never goes back.
pub fn ticks() -> u64 {
    clock(libc::CLOCK_BOOTTIME)
}

/// Milliseconds since the Unix epoch.
pub fn now() -> i64 {
    clock(libc::CLOCK_REALTIME) as i64
}

/// A descriptor as a file, to read and write it by std's means.
pub fn file(descriptor: OwnedFd) -> File {
    File::from(descriptor)
}
