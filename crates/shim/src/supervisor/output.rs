//! From the program's pipe or terminal to the kept output, and the wakes that follow.
//!
//! **Invariant:** after the last byte comes a wake; before it, at most one in [`QUIET`].

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use homing_shim::folder::{Folder, WAKE};
use homing_shim::output::Writer;
use homing_shim::spec::{OutputWakes, Spec};
use homing_shim::wake::{Wake, WakeKind};

/// Milliseconds between two wakes of a program that keeps writing.
const QUIET: u64 = 20;
/// Milliseconds until a wake is tried again that found the FIFO full.
const FULL: u64 = 100;
const BUFFER: usize = 32 * 1024;
/// The most that can be in a pipe that nobody has enlarged by privilege. More than this after the end is somebody else's output.
const LARGEST_PIPE: usize = 1024 * 1024;

#[derive(Debug)]
pub struct Output {
    source: Option<File>,
    kept: Writer,
    buffer: Vec<u8>,
    waker: Waker,
}

impl Output {
    pub fn new(source: File, spec: &Spec, folder: &Folder) -> Self {
        let waker = Waker {
            process: spec.process,
            wakes: spec.wakes,
            last: 0,
            due: None,
        };
        Self {
            source: Some(source),
            kept: Writer::new(folder.clone(), spec.head, spec.tail),
            buffer: vec![0; BUFFER],
            waker,
        }
    }

    /// What to poll, and with a terminal what to type into; nothing once every writer is gone.
    pub fn source(&self) -> Option<&File> {
        self.source.as_ref()
    }

    pub fn total(&self) -> u64 {
        self.kept.total()
    }

    pub fn wake_due(&self) -> Option<u64> {
        self.waker.due
    }

    /// Takes what is there, one buffer of it. Returns how much that was.
    pub fn take(&mut self, now: u64) -> usize {
        let Some(source) = &mut self.source else {
            return 0;
        };
        match source.read(&mut self.buffer) {
            Ok(length) if length > 0 => {
                self.kept.append(&self.buffer[..length]);
                self.waker.wrote(now);
                length
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                0
            }
            // The end, or a terminal that nobody has open (EIO): polled any longer, it would be ready for ever.
            Ok(_) | Err(_) => {
                self.source = None;
                0
            }
        }
    }

    /// After the program's end: what is in the pipe, without waiting, and not for ever if somebody else goes on writing.
    pub fn drain(&mut self, now: u64) {
        let mut drained = 0;
        while drained < LARGEST_PIPE {
            match self.take(now) {
                0 => break,
                length => drained += length,
            }
        }
        // The disk may refuse. The exit record is still worth more than none.
        let _ = self.kept.sync();
    }

    pub fn wake_if_due(&mut self, now: u64) {
        if self.waker.due.is_some_and(|due| due <= now) {
            self.waker.output(now);
        }
    }

    /// The last wakes: for what was written, then for the end. After that, output of left-over processes wakes nobody.
    pub fn say_ended(&mut self, now: u64) {
        if self.waker.due.take().is_some() {
            self.waker.output(now);
        }
        self.waker.wakes = OutputWakes::Silent;
        self.waker.due = None;
        // Full or nobody there: the gateway sees by its pidfd that we are gone, or finds the record when it is back.
        let _ = wake(self.waker.process, WakeKind::Ended);
    }
}

#[derive(Debug)]
struct Waker {
    process: u64,
    wakes: OutputWakes,
    last: u64,
    due: Option<u64>,
}

impl Waker {
    fn wrote(&mut self, now: u64) {
        if self.wakes == OutputWakes::Wanted && self.due.is_none() {
            self.due = Some(now.max(self.last + QUIET));
        }
    }

    fn output(&mut self, now: u64) {
        self.last = now;
        self.due = match wake(self.process, WakeKind::Output) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(now + FULL),
            // Nobody there (ENXIO): a gateway that comes back looks by itself.
            Ok(()) | Err(_) => None,
        };
    }
}

fn wake(process: u64, kind: WakeKind) -> io::Result<()> {
    let mut fifo = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(format!("../{WAKE}"))?;
    fifo.write(&Wake { process, kind }.to_bytes()).map(drop)
}
