//! Commands from a gateway, out of the FIFO `control`.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, RawFd};

use homing_shim::control::{Command, LENGTH};

#[derive(Debug)]
pub struct Control {
    fifo: File,
}

impl Control {
    pub fn new(fifo: File) -> Self {
        Self { fifo }
    }

    pub fn descriptor(&self) -> RawFd {
        self.fifo.as_raw_fd()
    }

    /// The next command, if one is there. Commands are written whole, so they are read whole; what is none is passed over.
    pub fn next(&mut self) -> Option<Command> {
        let mut bytes = [0; LENGTH];
        loop {
            match self.fifo.read(&mut bytes) {
                Ok(LENGTH) => {
                    if let Some(command) = Command::parse(&bytes) {
                        return Some(command);
                    }
                }
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}
