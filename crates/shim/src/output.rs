//! Kept output: a head that stays for ever, a tail that moves, both readable by offset from the very first byte.
//!
//! Segments are files named after the offset of their first byte. The first one is the head; behind it come segments of a quarter of the
//! tail, and the oldest of these is removed as soon as the younger ones hold `tail` bytes by themselves. So on disk lie at most
//! `head + tail + one segment` bytes, and never less than asked for.
//!
//! **Invariant:** an offset is a place in everything ever written, kept or not; [`Writer::total`] counts also what a full disk refused. Such a gap
//! looks to a reader like any other: the next chunk begins later than asked.
//! **Absent on purpose:** text. These are bytes; a chunk may end inside a character.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;

use crate::folder::Folder;

const PREFIX: &str = "out.";
const SMALLEST_SEGMENT: u64 = 4 * 1024;

fn name(offset: u64) -> String {
    format!("{PREFIX}{offset}")
}

/// The supervisor's side.
#[derive(Debug)]
pub struct Writer {
    folder: Folder,
    head: u64,
    tail: u64,
    total: u64,
    current: Option<Current>,
    /// Closed segments behind the head, oldest first: first byte, byte after the last.
    closed: VecDeque<(u64, u64)>,
}

#[derive(Debug)]
struct Current {
    file: File,
    start: u64,
    length: u64,
    limit: u64,
}

impl Writer {
    pub fn new(folder: Folder, head: u64, tail: u64) -> Self {
        Self {
            folder,
            head,
            tail,
            total: 0,
            current: None,
            closed: VecDeque::new(),
        }
    }

    /// Bytes ever written.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Appends. What the disk refuses is counted and dropped: the program must not stand still because of it.
    pub fn append(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = self.append_some(rest).unwrap_or_else(|_| {
                self.close();
                self.remove_old();
                rest.len()
            });
            self.total += written as u64;
            rest = &rest[written..];
        }
    }

    fn append_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self
            .current
            .as_ref()
            .is_some_and(|current| current.length >= current.limit)
        {
            self.close();
            self.remove_old();
        }
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.begin()?,
        };
        let room = current
            .limit
            .saturating_sub(current.length)
            .min(bytes.len() as u64) as usize;
        let result = current.file.write(&bytes[..room]);
        current.length += *result.as_ref().unwrap_or(&0) as u64;
        self.current = Some(current);
        match result {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            other => other,
        }
    }

    fn begin(&self) -> io::Result<Current> {
        let segment = (self.tail / 4).max(SMALLEST_SEGMENT);
        let limit = if self.total < self.head {
            self.head - self.total
        } else {
            segment
        };
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(self.folder.file(&name(self.total)))?;
        Ok(Current {
            file,
            start: self.total,
            length: 0,
            limit,
        })
    }

    /// One that nothing could be written into is not kept: on a full disk every read of the program's output would leave another.
    fn close(&mut self) {
        match self.current.take() {
            Some(current) if current.length == 0 => {
                // Cannot be removed: then it stays, and is empty.
                let _ = fs::remove_file(self.folder.file(&name(current.start)));
            }
            Some(current) => {
                let end = current.start + current.length;
                self.closed.push_back((current.start, end));
            }
            None => {}
        }
    }

    /// Called between two segments: everything is in closed ones.
    fn remove_old(&mut self) {
        while let Some((start, end)) = self.closed.front().copied() {
            if start < self.head {
                self.closed.pop_front();
                continue;
            }
            if self.total - end < self.tail {
                return;
            }
            // Cannot be removed: then it stays, and is only space.
            let _ = fs::remove_file(self.folder.file(&name(start)));
            self.closed.pop_front();
        }
    }

    /// Brings everything kept to the disk itself.
    pub fn sync(&self) -> io::Result<()> {
        for segment in segments(&self.folder)? {
            File::open(self.folder.file(&name(segment.start)))?.sync_data()?;
        }
        Ok(())
    }
}

/// A piece of what is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunk {
    /// Offset of the first byte.
    pub from: u64,
    pub bytes: Vec<u8>,
    /// Bytes on record so far.
    pub total: u64,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    start: u64,
    end: u64,
}

/// Sorted by offset. Ones that overlap or cannot be measured are damage; the reader takes what it can get.
fn segments(folder: &Folder) -> io::Result<Vec<Segment>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(start) = file_name
            .to_str()
            .and_then(|text| text.strip_prefix(PREFIX)?.parse::<u64>().ok())
        else {
            continue;
        };
        // Removed by the supervisor since: not kept any more.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        found.push(Segment {
            start,
            end: start.saturating_add(metadata.len()),
        });
    }
    found.sort_unstable_by_key(|segment| segment.start);
    Ok(found)
}

/// The end of what is on record.
pub fn total(folder: &Folder) -> io::Result<u64> {
    Ok(segments(folder)?.last().map_or(0, |last| last.end))
}

/// At most `limit` bytes from offset `from` on, without a gap between them; from the next kept byte if that one is no longer kept.
pub fn read(folder: &Folder, from: u64, limit: usize) -> io::Result<Chunk> {
    read_with(folder, |_| from, limit)
}

/// The last bytes, at most `limit`, without a gap between them.
pub fn tail(folder: &Folder, limit: usize) -> io::Result<Chunk> {
    let last_run = |segments: &[Segment]| {
        let total = segments.last().map_or(0, |last| last.end);
        let run = segments.iter().rev().fold(total, |begin, segment| {
            if segment.end == begin {
                segment.start
            } else {
                begin
            }
        });
        total.saturating_sub(limit as u64).max(run)
    };
    read_with(folder, last_run, limit)
}

fn read_with(folder: &Folder, from: impl Fn(&[Segment]) -> u64, limit: usize) -> io::Result<Chunk> {
    // The supervisor may remove a segment between our look and our read; then we look again. It has to write a whole segment for each.
    for _ in 0..100 {
        let segments = segments(folder)?;
        match read_segments(folder, &segments, from(&segments), limit) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
    }
    Err(io::Error::other(
        "the output moves on faster than it can be read",
    ))
}

fn read_segments(
    folder: &Folder,
    segments: &[Segment],
    from: u64,
    limit: usize,
) -> io::Result<Chunk> {
    let total = segments.last().map_or(0, |last| last.end);
    let mut chunk = Chunk {
        from: from.min(total),
        bytes: Vec::new(),
        total,
    };
    for segment in segments.iter().filter(|segment| segment.end > from) {
        let position = chunk.from + chunk.bytes.len() as u64;
        let start = position.max(segment.start);
        if start > position {
            if !chunk.bytes.is_empty() {
                break;
            }
            chunk.from = start;
        }
        let left = (limit - chunk.bytes.len()) as u64;
        let mut file = File::open(folder.file(&name(segment.start)))?;
        file.seek(SeekFrom::Start(start - segment.start))?;
        file.take(left.min(segment.end - start))
            .read_to_end(&mut chunk.bytes)?;
        if chunk.bytes.len() >= limit {
            break;
        }
    }
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn byte(offset: u64) -> u8 {
        (offset % 251) as u8
    }

    fn written(writer: &mut Writer, pieces: &[usize]) -> u64 {
        for piece in pieces {
            let begin = writer.total();
            let bytes: Vec<u8> = (begin..begin + *piece as u64).map(byte).collect();
            writer.append(&bytes);
        }
        writer.total()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn head_and_tail_are_kept_and_every_byte_stands_where_it_was_written(
            head in 0u64..9_000, tail in 0u64..40_000,
            pieces in prop::collection::vec(0usize..20_000, 0..12),
            limit in 1usize..50_000,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let folder = Folder::new(directory.path());
            let mut writer = Writer::new(folder.clone(), head, tail);
            let total = written(&mut writer, &pieces);
            prop_assert_eq!(total, pieces.iter().sum::<usize>() as u64);

            let mut kept = 0;
            let mut gaps = Vec::new();
            let mut at = 0;
            while at < total {
                let chunk = read(&folder, at, limit).unwrap();
                prop_assert_eq!(chunk.total, total);
                prop_assert!(chunk.from >= at && !chunk.bytes.is_empty() && chunk.bytes.len() <= limit);
                for (index, found) in chunk.bytes.iter().enumerate() {
                    prop_assert_eq!(*found, byte(chunk.from + index as u64));
                }
                if chunk.from > at { gaps.push((at, chunk.from)); }
                kept += chunk.bytes.len() as u64;
                at = chunk.from + chunk.bytes.len() as u64;
            }
            prop_assert_eq!(at, total);
            prop_assert!(gaps.len() <= 1, "{:?}", gaps);
            for (begin, end) in gaps {
                prop_assert!(begin >= head.min(total) && end <= total - tail.min(total));
            }
            prop_assert!(kept <= head + tail + 2 * (tail / 4).max(SMALLEST_SEGMENT));

            let last = super::tail(&folder, limit).unwrap();
            prop_assert_eq!(last.from + last.bytes.len() as u64, total);
            prop_assert!(last.bytes.len() as u64 >= (limit as u64).min(tail).min(total));
        }
    }

    #[test]
    fn bytes_a_disk_refuses_are_counted_and_the_rest_follows() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::new(directory.path());
        let mut writer = Writer::new(folder.clone(), 10, 100);
        writer.append(b"0123456789");
        // The next segment's name is taken: as good as a disk that says no.
        fs::create_dir(directory.path().join("out.10")).unwrap();
        writer.append(b"lost");
        fs::remove_dir(directory.path().join("out.10")).unwrap();
        writer.append(b"after");
        assert_eq!(writer.total(), 19);
        assert_eq!(
            read(&folder, 0, 100).unwrap(),
            Chunk {
                from: 0,
                bytes: b"0123456789".to_vec(),
                total: 19
            }
        );
        assert_eq!(
            read(&folder, 10, 100).unwrap(),
            Chunk {
                from: 14,
                bytes: b"after".to_vec(),
                total: 19
            }
        );
    }

    /// A device that is always full stands for the disk: the segment is there, and takes nothing.
    #[test]
    fn a_full_disk_leaves_no_segment_for_each_refusal() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::new(directory.path());
        let mut writer = Writer::new(folder.clone(), 10_000, 40_000);
        writer.append(b"before");
        let kept = segments(&folder).unwrap().len();
        for _ in 0..100 {
            writer.close();
            let mut current = writer.begin().unwrap();
            current.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
            writer.current = Some(current);
            writer.append(b"refused");
        }
        assert_eq!(writer.total(), 6 + 100 * 7);
        assert_eq!(segments(&folder).unwrap().len(), kept);
    }
}
