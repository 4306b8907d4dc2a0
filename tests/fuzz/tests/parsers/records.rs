//! The run folder's records and what goes through its FIFOs, and the kernel's `stat`.
//!
//! A mutated record is read twice: as it is, and with its last line made right, so that mutations reach what lies behind that check.

use homing_fuzz::{Reading, fuzz};
use homing_shim::control::Command;
use homing_shim::exit::Exit;
use homing_shim::machine::parse_stat;
use homing_shim::record::{Record, RecordError, Writer};
use homing_shim::spec::Spec;
use homing_shim::started::Started;
use homing_shim::wake::Wake;

/// The lines before the last one, with an `end` that counts them.
fn mended(input: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    lines.retain(|line| !line.is_empty() && !line.starts_with(b"end="));
    let end = format!("end={}\n", lines.len());
    let mut record = lines.join(&b'\n');
    record.push(b'\n');
    record.extend_from_slice(end.as_bytes());
    record
}

/// Reads both; an error names the file and a line that is there.
fn read<T>(
    file: &str,
    input: &[u8],
    parse: fn(&[u8]) -> Result<T, RecordError>,
    check: impl Fn(T),
) -> Reading {
    let mut accepted = false;
    for content in [input.to_vec(), mended(input)] {
        match parse(&content) {
            Ok(record) => {
                accepted = true;
                check(record);
            }
            Err(error) => {
                assert_eq!(error.file, file);
                assert!(!error.what.is_empty());
                assert!(error.line <= content.split(|byte| *byte == b'\n').count());
            }
        }
    }
    Reading::of(accepted)
}

#[test]
fn specs() {
    fuzz("spec", |input| {
        read("spec", input, Spec::parse, |spec| {
            assert!(!spec.arguments.is_empty());
            assert_eq!(Spec::parse(spec.to_text().as_bytes()), Ok(spec));
        })
    });
}

#[test]
fn starts() {
    fuzz("started", |input| {
        read("started", input, Started::parse, |started| {
            assert!(started.program.pid > 1 && started.supervisor.pid > 1 && started.at >= 0);
            assert_eq!(Started::parse(started.to_text().as_bytes()), Ok(started));
        })
    });
}

// OWN-91: no ending is made up, not even of a record that was cut off.
#[test]
fn exits() {
    fuzz("exit", |input| {
        read("exit", input, Exit::parse, |exit| {
            assert!(exit.at >= 0);
            let text = exit.to_text();
            assert_eq!(Exit::parse(text.as_bytes()), Ok(exit));
            for length in 0..text.len() {
                let cut = Exit::parse(&text.as_bytes()[..length]);
                assert!(cut.is_err(), "cut after {length} bytes: {cut:?}");
            }
        })
    });
}

#[test]
fn values_of_any_bytes_come_back() {
    fuzz("record-values", |input| {
        let values: Vec<&[u8]> = input.split(|byte| *byte == b'|').collect();
        let mut writer = Writer::new();
        values.iter().for_each(|value| writer.bytes("value", value));
        let text = writer.finish();
        let record = Record::parse("spec", text.as_bytes()).unwrap();
        assert_eq!(record.all("value").collect::<Vec<_>>(), values);
        Reading::Accepted
    });
}

#[test]
fn control_and_wakes() {
    fuzz("fifo", |input| {
        let mut accepted = false;
        for bytes in input.as_chunks::<16>().0 {
            if let Some(command) = Command::parse(bytes) {
                assert_eq!(Command::parse(&command.to_bytes()), Some(command));
                accepted = true;
            }
            if let Some(wake) = Wake::parse(bytes) {
                assert_eq!(wake.to_bytes(), *bytes);
                accepted = true;
            }
        }
        Reading::of(accepted)
    });
}

#[test]
fn kernel_stats() {
    fuzz("proc-stat", |input| match parse_stat(input) {
        None => Reading::Refused,
        Some(stat) => {
            // A name with anything in it moves no field.
            let close = input.iter().rposition(|byte| *byte == b')').unwrap();
            let renamed = [b"1 (a) b (c\n) ", &input[close..]].concat();
            let again = parse_stat(&renamed).unwrap();
            assert_eq!(
                (again.state, again.parent, again.start_time),
                (stat.state, stat.parent, stat.start_time)
            );
            Reading::Accepted
        }
    });
}
