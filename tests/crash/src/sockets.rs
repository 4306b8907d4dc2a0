//! Connections of a listener in this process whose other end is gone, as the kernel lists them.

use std::fs;

/// `CLOSE_WAIT`: the other end has closed, and what it wrote before may still wait to be read.
const CLOSE_WAIT: &str = "08";

/// How many there are below this local port. None if the kernel does not say.
pub fn half_open(port: u16) -> usize {
    let table = fs::read_to_string("/proc/self/net/tcp").unwrap_or_default();
    count(&table, port)
}

fn count(table: &str, port: u16) -> usize {
    let local = format!(":{port:04X}");
    let waits = |line: &&str| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let is_local = columns.next().is_some_and(|at| at.ends_with(&local));
        is_local && columns.nth(1) == Some(CLOSE_WAIT)
    };
    table.lines().filter(waits).count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_half_open_until_its_other_end_closes_too() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let writer = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (reader, _) = listener.accept().unwrap();
        assert_eq!(half_open(port), 0);
        drop(writer);
        assert_eq!(half_open(port), 1);
        drop(reader);
        assert_eq!(half_open(port), 0);
    }

    #[test]
    fn only_the_local_port_and_the_state_count() {
        let table = "  sl  local_address rem_address   st\n\
                     0: 0100007F:1F90 0100007F:C350 08 0:0 0\n\
                     1: 0100007F:C350 0100007F:1F90 08 0:0 0\n\
                     2: 0100007F:1F90 0100007F:C351 01 0:0 0\n";
        assert_eq!(count(table, 0x1f90), 1);
    }
}
