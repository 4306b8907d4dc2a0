//! Standard input: a FIFO the program reads itself, or, with a terminal, one that we type into it.
//!
//! **Absent on purpose:** a queue. What is not read yet waits in the FIFO, where the kernel bounds it and makes the gateway wait.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

use homing_shim::folder::INPUT;

use super::launch::OpenInput;

/// Control-D: what a person types to end the input.
const END_OF_INPUT: u8 = 4;
const BUFFER: usize = 1024;

#[derive(Debug)]
pub struct Input {
    ends: OpenInput,
    /// Read from the FIFO, not yet taken by the terminal.
    pending: Vec<u8>,
    /// In the middle of a line, control-D only hands the line over; a second one ends the input.
    in_a_line: bool,
}

impl Input {
    pub fn new(ends: OpenInput) -> Self {
        Self {
            ends,
            pending: Vec::new(),
            in_a_line: false,
        }
    }

    /// The FIFO to wait on, when there is room for more.
    pub fn source(&self) -> Option<RawFd> {
        match &self.ends {
            OpenInput::Typed { source, .. } if self.pending.is_empty() => Some(source.as_raw_fd()),
            _ => None,
        }
    }

    /// Is there something to be typed?
    pub fn waits_for_terminal(&self) -> bool {
        !self.pending.is_empty()
    }

    pub fn take(&mut self) {
        let OpenInput::Typed { source, .. } = &mut self.ends else {
            return;
        };
        let mut buffer = [0; BUFFER];
        match source.read(&mut buffer) {
            Ok(0) => {
                let times = if self.in_a_line { 2 } else { 1 };
                self.pending.resize(times, END_OF_INPUT);
                self.ends = OpenInput::Closed;
            }
            Ok(length) => {
                self.pending.extend_from_slice(&buffer[..length]);
                self.in_a_line = buffer[length - 1] != b'\n';
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => self.ends = OpenInput::Closed,
        }
    }

    pub fn type_into(&mut self, mut terminal: &File) {
        match terminal.write(&self.pending) {
            Ok(length) => drop(self.pending.drain(..length)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => self.pending.clear(),
        }
    }

    /// No more input. What was written before is still read first.
    pub fn close(&mut self) {
        // The name goes first, so that nobody can open it again after the end.
        let _ = fs::remove_file(INPUT);
        match &mut self.ends {
            OpenInput::Direct { .. } => self.ends = OpenInput::Closed,
            // Without our writing end, reading on comes to the end by itself.
            OpenInput::Typed { keeper, .. } => drop(keeper.take()),
            OpenInput::Closed => {}
        }
    }
}
