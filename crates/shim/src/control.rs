//! What a gateway asks of a supervisor, through the FIFO `control`.
//!
//! **Absent on purpose:** input for the program. It has a FIFO of its own, so that a program that does not read cannot hold up a kill.

/// Divides `PIPE_BUF`: a command is written whole or not at all.
pub const LENGTH: usize = 16;
const MAGIC: [u8; 7] = *b"homing1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// SIGTERM to the program's group now, SIGKILL to everything after so many milliseconds; 0 is SIGKILL at once.
    Kill {
        grace_ms: u64,
    },
    CloseInput,
}

impl Command {
    pub fn to_bytes(self) -> [u8; LENGTH] {
        let (kind, number) = match self {
            Command::Kill { grace_ms } => (b'k', grace_ms),
            Command::CloseInput => (b'c', 0),
        };
        let mut bytes = [0; LENGTH];
        bytes[..7].copy_from_slice(&MAGIC);
        bytes[7] = kind;
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        bytes
    }

    pub fn parse(bytes: &[u8; LENGTH]) -> Option<Self> {
        let (head, number) = bytes.split_at(8);
        match head.strip_prefix(&MAGIC)? {
            b"k" => Some(Command::Kill {
                grace_ms: u64::from_be_bytes(number.try_into().ok()?),
            }),
            b"c" => Some(Command::CloseInput),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_comes_back(grace_ms in any::<u64>()) {
            for command in [Command::Kill { grace_ms }, Command::CloseInput] {
                prop_assert_eq!(Command::parse(&command.to_bytes()), Some(command));
            }
        }

        #[test]
        fn nothing_panics(bytes in any::<[u8; LENGTH]>()) {
            let _ = Command::parse(&bytes);
        }
    }
}
