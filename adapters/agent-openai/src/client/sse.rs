//! Server-sent events out of bytes.
//!
//! **Invariant:** the events do not depend on where the bytes were split. What is kept between two pieces is bounded.
//! **Absent on purpose:** `id` and `retry`: a chat cannot be resumed. What the data means is for its reader.

/// Of one line and of one event's data. A whole answer with a long tool call comes in one line of some servers.
pub const LONGEST: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Empty unless the server gave one.
    pub name: String,
    /// Lines joined by `\n`. Bytes that are not UTF-8 are replacement characters.
    pub data: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event of the stream is longer than {LONGEST} bytes")]
    TooLong,
}

/// Takes bytes as they come.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The line that has begun.
    line: Vec<u8>,
    /// The last byte was `\r`: a `\n` belongs to it.
    after_return: bool,
    /// The first line is over, and with it the place of a byte order mark.
    begun: bool,
    name: String,
    data: Option<String>,
}

impl SseDecoder {
    /// The events that these bytes end.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            self.extend(&bytes[..end])?;
            events.extend(self.end_line()?);
            let rest = &bytes[end + 1..];
            bytes = match bytes[end] {
                b'\r' if rest.is_empty() => {
                    self.after_return = true;
                    rest
                }
                b'\r' => rest.strip_prefix(b"\n").unwrap_or(rest),
                _ => rest,
            };
        }
        self.extend(bytes)?;
        Ok(events)
    }

    /// The stream is over. Servers forget the last empty line; what is cut in the middle its reader cannot read.
    pub fn end(mut self) -> Result<Option<SseEvent>, SseError> {
        let line = self.end_line()?;
        Ok(line.or_else(|| self.dispatch()))
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len() + bytes.len() > LONGEST {
            return Err(SseError::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add_data(&String::from_utf8_lossy(value))?,
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // Comments have an empty name.
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, line: &str) -> Result<(), SseError> {
        match &mut self.data {
            Some(data) if data.len() + line.len() > LONGEST => return Err(SseError::TooLong),
            Some(data) => {
                data.push('\n');
                data.push_str(line);
            }
            None => self.data = Some(line.to_owned()),
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        let data = self.data.take()?;
        Some(SseEvent { name, data })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Result<Vec<SseEvent>, SseError> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(decoder.push(piece)?);
        }
        events.extend(decoder.end()?);
        Ok(events)
    }

    fn data(stream: &str) -> Vec<String> {
        let events = events(&[stream.as_bytes()]).unwrap();
        events.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn every_kind_of_line_end_ends_a_line() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = "data: a|data: b||:comment|data:c||".replace('|', end);
            assert_eq!(data(&stream), ["a\nb", "c"], "{end:?}");
        }
    }

    #[test]
    fn only_one_space_belongs_to_the_field() {
        assert_eq!(
            data("data:  two\n\ndata\n\ndata:\n\n"),
            [" two".to_owned(), String::new(), String::new()]
        );
    }

    #[test]
    fn comments_empty_lines_and_other_fields_are_no_events() {
        assert_eq!(
            data("\u{feff}: OPENROUTER PROCESSING\n\n\n\nid: 7\nretry: 3\n\ndata: x\n\n"),
            ["x"]
        );
        // Only at the very beginning is it a mark.
        assert_eq!(data("\n\u{feff}data: x\n\n"), Vec::<String>::new());
    }

    #[test]
    fn a_name_belongs_to_one_event() {
        let events = events(&[b"event: error\ndata: {}\n\ndata: 2\n\n"]).unwrap();
        assert_eq!((&*events[0].name, &*events[1].name), ("error", ""));
    }

    #[test]
    fn the_last_event_counts_without_its_empty_line() {
        assert_eq!(data("data: 1\n\ndata: [DONE]\n"), ["1", "[DONE]"]);
        assert_eq!(data("data: 1\n\ndata: [DONE]"), ["1", "[DONE]"]);
    }

    #[test]
    fn what_never_ends_is_refused() {
        let piece = vec![b'x'; 1024 * 1024];
        let mut decoder = SseDecoder::default();
        let refused = (0..9).find_map(|_| decoder.push(&piece).err());
        assert_eq!(refused, Some(SseError::TooLong));
        let mut line = b"data: ".to_vec();
        line.extend_from_slice(&piece);
        line.push(b'\n');
        let mut decoder = SseDecoder::default();
        let refused = (0..9).find_map(|_| decoder.push(&line).err());
        assert_eq!(refused, Some(SseError::TooLong));
    }

    /// Streams of what such streams are made of, and of anything.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"data: ".to_vec()),
            Just(b"data:".to_vec()),
            Just(b"event: e".to_vec()),
            Just(b": c".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n".to_vec()),
            Just("äß日😀".as_bytes().to_vec()),
            Just(BYTE_ORDER_MARK.to_vec()),
            Just(b"[DONE]".to_vec()),
            proptest::collection::vec(any::<u8>(), 0..6),
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(stream in stream(), cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8)) {
            let whole = events(&[&stream]).unwrap();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.push(stream.len());
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&stream[from..cut]);
                from = cut;
            }
            prop_assert_eq!(&events(&pieces).unwrap(), &whole);
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            prop_assert_eq!(&events(&bytes).unwrap(), &whole);
        }
    }
}
