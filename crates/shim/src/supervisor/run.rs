//! The loop: wait for one of a closed list of things, do what it asks, look whether it is over.
//!
//! It is over for the gateway when the program is reaped and its exit record is on disk. It is over for us when nothing of its tree is left:
//! processes that outlive the program are left alone, their output is kept on being taken (or the next write would kill them), they are
//! counted in the exit record, and `kill` still reaches them. If a kill is under way, the record waits until the tree is gone.

use std::io::{self, Read};
use std::os::fd::AsRawFd;

use homing_shim::control::Command;
use homing_shim::exit::{Ending, Exit};
use homing_shim::folder::{EXIT, Folder};

use super::control::Control;
use super::input::Input;
use super::launch::Program;
use super::output::Output;
use super::sys::{self, ChildEnding, Reaped};
use super::tree::Tree;

/// Milliseconds until an exit record that the disk refused is tried again. Until then we hold the lock: nobody can take it for lost.
const DISK_PAUSE: u64 = 1_000;

#[derive(Debug)]
pub struct Run {
    folder: Folder,
    pid: i32,
    children: std::fs::File,
    control: Control,
    output: Output,
    input: Input,
    tree: Tree,
    end: End,
    has_children: bool,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Running,
    Reaped {
        ending: ChildEnding,
        at: i64,
        try_again: u64,
    },
    Recorded,
}

/// What the wait ended with.
#[derive(Debug, Default)]
struct Ready {
    children: bool,
    control: bool,
    output: bool,
    input: bool,
    terminal: bool,
}

impl Run {
    pub fn new(program: Program) -> Self {
        Self {
            output: Output::new(program.output, &program.spec, &program.folder),
            input: Input::new(program.input),
            control: Control::new(program.control),
            children: sys::file(program.children),
            tree: Tree::new(program.pid, program.spec.cgroup.clone()),
            folder: program.folder,
            pid: program.pid,
            end: End::Running,
            has_children: true,
        }
    }

    pub fn until_nothing_is_left(mut self) -> io::Result<()> {
        let result = self.look_after();
        self.tree.clear_up();
        result
    }

    fn look_after(&mut self) -> io::Result<()> {
        loop {
            let ready = self.wait()?;
            let now = sys::ticks();
            if ready.output {
                self.output.take(now);
            }
            if ready.input {
                self.input.take();
            }
            if ready.terminal
                && let Some(terminal) = self.output.source()
            {
                self.input.type_into(terminal);
            }
            if ready.control {
                self.obey(now);
            }
            self.tree.kill_if_due(now);
            if ready.children || self.tree.still_ending() {
                self.reap_all(now)?;
            }
            self.output.wake_if_due(now);
            self.record_end(now)?;
            if matches!(self.end, End::Recorded) && !self.has_children {
                return Ok(());
            }
        }
    }

    fn wait(&mut self) -> io::Result<Ready> {
        let output = self.output.source().map_or(-1, |source| source.as_raw_fd());
        let typing = if self.input.waits_for_terminal() {
            libc::POLLOUT
        } else {
            0
        };
        // Negative descriptors are passed over by poll.
        let input = self.input.source().unwrap_or(-1);
        let watch = |fd, events| libc::pollfd {
            fd,
            events,
            revents: 0,
        };
        let mut descriptors = [
            watch(self.children.as_raw_fd(), libc::POLLIN),
            watch(self.control.descriptor(), libc::POLLIN),
            watch(output, libc::POLLIN | typing),
            watch(input, libc::POLLIN),
        ];
        sys::poll(&mut descriptors, self.timeout())?;
        let [children, control, output, input] = descriptors.map(|descriptor| descriptor.revents);
        Ok(Ready {
            children: children != 0,
            control: control != 0,
            output: output & !libc::POLLOUT != 0,
            input: input != 0,
            terminal: output & libc::POLLOUT != 0,
        })
    }

    /// Milliseconds until the next thing is due; -1 if nothing is.
    fn timeout(&self) -> i32 {
        let record = match self.end {
            End::Reaped { try_again, .. } if !self.tree.still_ending() => Some(try_again),
            _ => None,
        };
        let due = [self.output.wake_due(), self.tree.due(), record]
            .into_iter()
            .flatten()
            .min();
        due.map_or(-1, |due| {
            due.saturating_sub(sys::ticks()).min(i32::MAX as u64) as i32
        })
    }

    fn obey(&mut self, now: u64) {
        while let Some(command) = self.control.next() {
            match command {
                Command::Kill { grace_ms } => self.tree.ask_to_end(grace_ms, now),
                Command::CloseInput => self.input.close(),
            }
        }
    }

    fn reap_all(&mut self, now: u64) -> io::Result<()> {
        // Emptied first: an end after this makes it ready again.
        let mut told = [0; 512];
        while matches!(self.children.read(&mut told), Ok(length) if length > 0) {}
        loop {
            match sys::reap()? {
                Reaped::Child { pid, ending }
                    if pid == self.pid && matches!(self.end, End::Running) =>
                {
                    self.tree.program_is_reaped();
                    self.end = End::Reaped {
                        ending,
                        at: sys::now(),
                        try_again: now,
                    };
                }
                Reaped::Child { .. } => {}
                Reaped::NoneYet => {
                    self.has_children = true;
                    return Ok(());
                }
                Reaped::NoChildren => {
                    self.has_children = false;
                    return Ok(());
                }
            }
        }
    }

    fn record_end(&mut self, now: u64) -> io::Result<()> {
        let End::Reaped {
            ending,
            at,
            try_again,
        } = self.end
        else {
            return Ok(());
        };
        if try_again > now || (self.has_children && self.tree.still_ending()) {
            return Ok(());
        }
        self.output.drain(now);
        let ending = match ending {
            ChildEnding::Code(code) => Ending::Code(code),
            ChildEnding::Signal(signal) => Ending::Signal(signal),
        };
        let left = if self.has_children {
            self.tree.everything().len() as u64
        } else {
            0
        };
        let exit = Exit {
            ending,
            at,
            output_total: self.output.total(),
            left,
        };
        match self.write_exit(&exit) {
            Ok(()) => {
                self.input.close();
                self.output.say_ended(now);
                self.end = End::Recorded;
                Ok(())
            }
            // Somebody has removed the folder: there is nobody to tell.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            Err(_) => {
                if let End::Reaped { try_again, .. } = &mut self.end {
                    *try_again = now + DISK_PAUSE;
                }
                Ok(())
            }
        }
    }

    /// A gateway that found the folder damaged has declared the process lost, and that stands.
    fn write_exit(&self, exit: &Exit) -> io::Result<()> {
        match self.folder.file(EXIT).try_exists() {
            Ok(true) => Ok(()),
            _ => self.folder.write(EXIT, &exit.to_text()),
        }
    }
}
