//! Small text records: `key=value` lines between `format=1` and `end=<lines before it>`.
//!
//! **Invariant:** what was written is read back byte for byte, whatever bytes it has; a cut-off or foreign file is an error, never a default.
//! **Absent on purpose:** nesting, optional quoting, comments. A record is for two programs, and for a person with `cat`.

use std::fmt;

/// The version written into every record.
pub const FORMAT: u32 = 1;

/// What is wrong with a record, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError {
    pub file: &'static str,
    /// 1-based; 0 for the file as a whole.
    pub line: usize,
    pub what: String,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "`{}`: {}", self.file, self.what),
            line => write!(f, "`{}`, line {line}: {}", self.file, self.what),
        }
    }
}

impl std::error::Error for RecordError {}

/// Collects a record's lines.
#[derive(Debug)]
pub struct Writer {
    text: String,
    lines: usize,
}

impl Writer {
    #[expect(
        clippy::new_without_default,
        reason = "a record is begun on purpose, with its format line"
    )]
    pub fn new() -> Self {
        let mut writer = Self {
            text: String::new(),
            lines: 0,
        };
        writer.number("format", FORMAT.into());
        writer
    }

    pub fn bytes(&mut self, key: &str, value: &[u8]) {
        self.text.push_str(key);
        self.text.push('=');
        for byte in value {
            match byte {
                b'%' | 0..=0x1f | 0x7f.. => {
                    self.text.push('%');
                    self.text.push(hex(byte >> 4));
                    self.text.push(hex(byte & 15));
                }
                _ => self.text.push(char::from(*byte)),
            }
        }
        self.text.push('\n');
        self.lines += 1;
    }

    pub fn text(&mut self, key: &str, value: &str) {
        self.bytes(key, value.as_bytes());
    }

    pub fn number(&mut self, key: &str, value: u64) {
        self.text(key, &value.to_string());
    }

    /// The whole record, closed by the line that makes a cut-off one recognisable.
    pub fn finish(mut self) -> String {
        let lines = self.lines as u64;
        self.number("end", lines);
        self.text
    }
}

fn hex(nibble: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(nibble & 15)])
}

/// A record's lines, decoded. Unknown keys are kept and ignored: a later minor version may add some.
#[derive(Debug)]
pub struct Record {
    file: &'static str,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    key: String,
    value: Vec<u8>,
    line: usize,
}

impl Record {
    pub fn parse(file: &'static str, content: &[u8]) -> Result<Self, RecordError> {
        let whole = |what: &str| RecordError {
            file,
            line: 0,
            what: what.to_owned(),
        };
        let body = content
            .strip_suffix(b"\n")
            .ok_or_else(|| whole("it is empty or cut off"))?;
        let mut fields = Vec::new();
        for (index, line) in body.split(|byte| *byte == b'\n').enumerate() {
            fields.push(parse_line(file, index + 1, line)?);
        }
        let last = fields.pop().ok_or_else(|| whole("it is empty"))?;
        let promised = fields.len().to_string();
        if last.key != "end" || last.value != promised.as_bytes() {
            return Err(RecordError {
                file,
                line: last.line,
                what: format!("expected `end={promised}`: it is cut off or was edited"),
            });
        }
        let record = Self { file, fields };
        match record.number("format")? {
            found if found == u64::from(FORMAT) => Ok(record),
            found => Err(RecordError {
                file,
                line: 1,
                what: format!("format {found} is not known here, only {FORMAT}"),
            }),
        }
    }

    pub fn bytes(&self, key: &str) -> Result<&[u8], RecordError> {
        self.field(key).map(|field| field.value.as_slice())
    }

    /// `None` if it is not there: for keys that an earlier version did not write.
    pub fn optional(&self, key: &str) -> Result<Option<&[u8]>, RecordError> {
        match self.fields.iter().any(|field| field.key == key) {
            true => self.bytes(key).map(Some),
            false => Ok(None),
        }
    }

    pub fn text(&self, key: &str) -> Result<&str, RecordError> {
        let field = self.field(key)?;
        std::str::from_utf8(&field.value).map_err(|_| self.wrong(field, "a text"))
    }

    pub fn number(&self, key: &str) -> Result<u64, RecordError> {
        let field = self.field(key)?;
        number(&field.value).ok_or_else(|| self.wrong(field, "a number"))
    }

    /// Several numbers separated by single spaces.
    pub fn numbers<const N: usize>(&self, key: &str) -> Result<[u64; N], RecordError> {
        let field = self.field(key)?;
        let found: Option<Vec<u64>> = field
            .value
            .split(|byte| *byte == b' ')
            .map(number)
            .collect();
        found
            .and_then(|list| list.try_into().ok())
            .ok_or_else(|| self.wrong(field, &format!("{N} numbers")))
    }

    /// Every value of a key that may be repeated, in order.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(move |field| field.key == key)
            .map(|field| field.value.as_slice())
    }

    /// An error at the line of `key`.
    pub fn error(&self, key: &str, what: &str) -> RecordError {
        let line = self
            .fields
            .iter()
            .find(|field| field.key == key)
            .map_or(0, |field| field.line);
        RecordError {
            file: self.file,
            line,
            what: what.to_owned(),
        }
    }

    fn field(&self, key: &str) -> Result<&Field, RecordError> {
        let mut found = self.fields.iter().filter(|field| field.key == key);
        match (found.next(), found.next()) {
            (Some(field), None) => Ok(field),
            (None, _) => Err(self.error(key, &format!("there is no `{key}`"))),
            (Some(_), Some(second)) => Err(RecordError {
                file: self.file,
                line: second.line,
                what: format!("`{key}` stands there twice"),
            }),
        }
    }

    fn wrong(&self, field: &Field, wanted: &str) -> RecordError {
        RecordError {
            file: self.file,
            line: field.line,
            what: format!("`{}` must be {wanted}", field.key),
        }
    }
}

fn number(text: &[u8]) -> Option<u64> {
    // `u64::from_str` takes `+5`; a record does not.
    if !text.first()?.is_ascii_digit() {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn parse_line(file: &'static str, line: usize, bytes: &[u8]) -> Result<Field, RecordError> {
    let wrong = |what: &str| RecordError {
        file,
        line,
        what: what.to_owned(),
    };
    let split = bytes
        .iter()
        .position(|byte| *byte == b'=')
        .ok_or_else(|| wrong("expected `key=value`"))?;
    let key = std::str::from_utf8(&bytes[..split]).map_err(|_| wrong("the key is not a text"))?;
    let value = decode(&bytes[split + 1..])
        .ok_or_else(|| wrong("`%` must be followed by two hexadecimal digits"))?;
    Ok(Field {
        key: key.to_owned(),
        value,
        line,
    })
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => nibble(*rest.next()?)? << 4 | nibble(*rest.next()?)?,
            _ => *byte,
        });
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_come_back(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let mut writer = Writer::new();
            values.iter().for_each(|value| writer.bytes("argument", value));
            let text = writer.finish();
            let record = Record::parse("spec", text.as_bytes()).unwrap();
            prop_assert_eq!(record.all("argument").map(<[u8]>::to_vec).collect::<Vec<_>>(), values);
        }

        #[test]
        fn every_cut_is_noticed(value in "[ -~]{0,30}", cut in any::<prop::sample::Index>()) {
            let mut writer = Writer::new();
            writer.text("a", &value);
            let text = writer.finish();
            let length = cut.index(text.len());
            prop_assert!(Record::parse("spec", &text.as_bytes()[..length]).is_err());
        }

        #[test]
        fn nothing_panics(content in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Record::parse("spec", &content);
        }
    }

    #[test]
    fn errors_name_the_file_and_the_line() {
        let error = Record::parse("started", b"format=1\nat=%4\nend=2\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`started`, line 2: `%` must be followed by two hexadecimal digits"
        );
        let record = Record::parse("exit", b"format=1\nat=yes\nend=2\n").unwrap();
        assert_eq!(
            record.number("at").unwrap_err().to_string(),
            "`exit`, line 2: `at` must be a number"
        );
        assert_eq!(
            record.number("left").unwrap_err().to_string(),
            "`exit`: there is no `left`"
        );
        let error = Record::parse("exit", b"format=2\nend=1\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`exit`, line 1: format 2 is not known here, only 1"
        );
    }
}
