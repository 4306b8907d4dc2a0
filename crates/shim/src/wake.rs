//! A wake: "look again at this process". It carries no facts; losing one loses nothing but time.

/// Divides `PIPE_BUF` and the capacity of a pipe, so a reader always finds whole wakes.
pub const LENGTH: usize = 16;
const MAGIC: [u8; 7] = *b"homing1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    pub process: u64,
    pub kind: WakeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeKind {
    Output,
    Ended,
}

impl Wake {
    pub fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..7].copy_from_slice(&MAGIC);
        bytes[7] = match self.kind {
            WakeKind::Output => b'o',
            WakeKind::Ended => b'e',
        };
        bytes[8..].copy_from_slice(&self.process.to_be_bytes());
        bytes
    }

    pub fn parse(bytes: &[u8; LENGTH]) -> Option<Self> {
        let (head, number) = bytes.split_at(8);
        let kind = match head.strip_prefix(&MAGIC)? {
            b"o" => WakeKind::Output,
            b"e" => WakeKind::Ended,
            _ => return None,
        };
        Some(Self {
            process: u64::from_be_bytes(number.try_into().ok()?),
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_comes_back(process in any::<u64>()) {
            for kind in [WakeKind::Output, WakeKind::Ended] {
                let wake = Wake { process, kind };
                prop_assert_eq!(Wake::parse(&wake.to_bytes()), Some(wake));
            }
        }

        #[test]
        fn what_is_not_a_wake_is_none(bytes in any::<[u8; LENGTH]>()) {
            prop_assert_eq!(Wake::parse(&bytes).map(Wake::to_bytes).unwrap_or(bytes), bytes);
        }
    }
}
