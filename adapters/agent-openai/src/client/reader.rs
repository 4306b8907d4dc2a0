//! An answer out of the bytes of a body, whatever its form: events, or one JSON object of a server that does not stream. Pure.
//!
//! The form is told by the first byte, because servers and what stands before them get the content type wrong.
//!
//! **Invariant:** [`Reader::end`] returns an answer only if its server said that it was over. What is kept is bounded.

use super::assembly::{Answer, Assembly, Partial};
use super::chunk::{Chunk, ErrorBody};
use super::completion::Event;
use super::secret::{Secret, without_keys};
use super::sse::{SseDecoder, SseError, SseEvent};

/// Of a whole body.
const LONGEST: usize = 64 * 1024 * 1024;
/// How much of a body that makes no sense is shown, in bytes.
const SHOWN: usize = 300;
/// How much of its beginning is kept for that: more, because keys are taken out before it is cut.
const KEPT: usize = 8 * 1024;

const DONE: &str = "[DONE]";

#[derive(Debug, Default)]
pub struct Reader {
    form: Form,
    answer: Assembly,
    is_done: bool,
    beginning: Vec<u8>,
    length: usize,
    /// Not to be shown, should the server repeat it.
    key: Option<Secret>,
}

#[derive(Debug, Default)]
enum Form {
    /// White space at most so far: some send it to keep a connection alive.
    #[default]
    Unknown,
    Events(SseDecoder),
    Object(Vec<u8>),
}

#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ReadError {
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    #[error(transparent)]
    Event(#[from] SseError),
    /// With what stood there.
    #[error("{0}")]
    NotReadable(String),
    #[error("it holds no choice; it begins with {0:?}")]
    NoAnswer(String),
    #[error("it calls a tool without a name")]
    NamelessCall,
    /// The server says so in the middle of the answer.
    #[error("the server reports an error: {}", .0.message)]
    Server(Box<ErrorBody>),
    /// The server gave up on it.
    #[error("it ended with {0:?}")]
    Aborted(String),
    /// The body ended before the answer did.
    #[error("the connection ended before the answer did")]
    CutOff,
}

impl Reader {
    pub fn new(key: Option<Secret>) -> Reader {
        Reader {
            key,
            ..Reader::default()
        }
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, ReadError> {
        self.length += bytes.len();
        if self.length > LONGEST {
            return Err(ReadError::TooLong);
        }
        let bytes = self.after_white_space(bytes);
        let shown = KEPT.saturating_sub(self.beginning.len()).min(bytes.len());
        self.beginning.extend_from_slice(&bytes[..shown]);
        match &mut self.form {
            Form::Unknown => Ok(Vec::new()),
            Form::Object(body) => {
                body.extend_from_slice(bytes);
                Ok(Vec::new())
            }
            Form::Events(decoder) => {
                let events = decoder.push(bytes)?;
                let mut news = Vec::new();
                for event in events {
                    news.extend(self.read(&event)?);
                }
                Ok(news)
            }
        }
    }

    /// Settles the form at the first byte that shows it.
    fn after_white_space<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if !matches!(self.form, Form::Unknown) {
            return bytes;
        }
        // With those of a byte order mark.
        let means_nothing =
            |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf);
        let Some(begin) = bytes.iter().position(|byte| !means_nothing(byte)) else {
            return &[];
        };
        self.form = match bytes[begin] {
            b'{' => Form::Object(Vec::new()),
            _ => Form::Events(SseDecoder::default()),
        };
        &bytes[begin..]
    }

    fn read(&mut self, event: &SseEvent) -> Result<Vec<Event>, ReadError> {
        let data = event.data.trim();
        if self.is_done || data.is_empty() {
            return Ok(Vec::new());
        }
        if data == DONE {
            self.is_done = true;
            return Ok(Vec::new());
        }
        let chunk = Chunk::parse(data);
        if event.name == "error" {
            let told = chunk.ok().and_then(|chunk| chunk.error);
            let told = told.unwrap_or_else(|| ErrorBody {
                message: self.shown(data),
                ..ErrorBody::default()
            });
            return Err(ReadError::Server(Box::new(told)));
        }
        let chunk = chunk.map_err(|error| {
            ReadError::NotReadable(format!(
                "a piece cannot be read, {error}: {}",
                self.shown(data)
            ))
        })?;
        self.add(chunk)
    }

    fn add(&mut self, mut chunk: Chunk) -> Result<Vec<Event>, ReadError> {
        match chunk.error.take() {
            Some(error) => Err(ReadError::Server(Box::new(error))),
            None => Ok(self.answer.add(chunk)),
        }
    }

    /// Nothing that matters comes any more.
    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// The answer is over; its usage may follow.
    pub const fn is_finished(&self) -> bool {
        self.is_done || self.answer.is_finished()
    }

    /// The body is over. What is news then comes first; [`Reader::answer`] tells whether it was whole.
    pub fn end(&mut self) -> Result<Vec<Event>, ReadError> {
        match std::mem::take(&mut self.form) {
            Form::Unknown => Ok(Vec::new()),
            Form::Object(body) => {
                let body = String::from_utf8_lossy(&body);
                let chunk = Chunk::parse(&body).map_err(|error| {
                    ReadError::NotReadable(format!(
                        "it cannot be read, {error}: {}",
                        self.shown(&body)
                    ))
                })?;
                self.is_done = true;
                self.add(chunk)
            }
            Form::Events(decoder) => match decoder.end()? {
                Some(event) => match self.read(&event) {
                    // It was cut in the middle.
                    Err(ReadError::NotReadable(_)) => Ok(Vec::new()),
                    other => other,
                },
                None => Ok(Vec::new()),
            },
        }
    }

    /// The answer, if its server said that it was over.
    pub fn answer(
        self,
        fresh_id: &mut dyn FnMut(usize) -> String,
    ) -> Result<Answer, (ReadError, Box<Partial>)> {
        match self.incomplete() {
            None => Ok(self.answer.answer(fresh_id)),
            Some(error) => Err((error, Box::new(self.partial(fresh_id)))),
        }
    }

    fn incomplete(&self) -> Option<ReadError> {
        if let Some(word) = self.answer.aborted() {
            return Some(ReadError::Aborted(word.to_owned()));
        }
        if !self.answer.has_choice() {
            let beginning = String::from_utf8_lossy(&self.beginning);
            return Some(ReadError::NoAnswer(self.shown(&beginning)));
        }
        if !self.is_finished() {
            return Some(ReadError::CutOff);
        }
        let nameless = self.answer.has_nameless_call();
        nameless.then_some(ReadError::NamelessCall)
    }

    /// What there is of it so far.
    pub fn partial(self, fresh_id: &mut dyn FnMut(usize) -> String) -> Partial {
        self.answer.partial(fresh_id)
    }

    /// The beginning of a text: redacted, then cut.
    fn shown(&self, text: &str) -> String {
        let text = without_keys(text, self.key.as_ref());
        let end = text.floor_char_boundary(SHOWN);
        let rest = if end < text.len() { " […]" } else { "" };
        format!("{}{rest}", &text[..end])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::client::completion::Finish;

    fn read(body: &str) -> Result<Answer, ReadError> {
        let mut reader = Reader::default();
        reader.push(body.as_bytes())?;
        reader.end()?;
        reader
            .answer(&mut |number| format!("fresh{number}"))
            .map_err(|(error, _)| error)
    }

    const PIECE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n";
    const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n";

    #[test]
    fn an_answer_is_over_when_the_server_says_so_in_one_way_or_the_other() {
        for end in [
            format!("{END}data: [DONE]\n\n"),
            END.to_owned(),
            "data: [DONE]\n\n".into(),
            "data: [DONE]".into(),
        ] {
            let answer = read(&format!("{PIECE}{end}")).unwrap();
            assert_eq!(answer.text, "hello");
            assert_eq!(answer.finish == Finish::Length, end.contains("length"));
        }
    }

    #[test]
    fn an_answer_that_only_ends_is_not_whole() {
        assert_eq!(read(PIECE), Err(ReadError::CutOff));
        let cut_in_a_piece = format!("{PIECE}{}", &END[..END.len() - 20]);
        assert_eq!(read(&cut_in_a_piece), Err(ReadError::CutOff));
        let given_up = PIECE.replace("}]", ",\"finish_reason\":\"abort\"}]") + "data: [DONE]\n\n";
        assert_eq!(read(&given_up), Err(ReadError::Aborted("abort".into())));
    }

    #[test]
    fn a_server_that_does_not_stream_is_understood() {
        let body = " \n\u{feff}{\"choices\":[{\"message\":{\"content\":\"hello\"}}]}\n";
        assert_eq!(read(body).unwrap().text, "hello");
        assert!(matches!(
            read(&body[..20]),
            Err(ReadError::NotReadable(text)) if text.starts_with("it cannot be read, it is no JSON: {")
        ));
    }

    #[test]
    fn an_error_in_the_middle_is_an_error() {
        for error in [
            "data: {\"error\":{\"message\":\"m\"}}\n\n",
            "event: error\ndata: m\n\n",
        ] {
            let body = format!("{PIECE}{error}{END}");
            assert!(matches!(read(&body), Err(ReadError::Server(error)) if error.message == "m"));
        }
    }

    #[test]
    fn a_piece_that_makes_no_sense_is_not_passed_over() {
        let body = format!("{PIECE}data: {{\"choices\":[\n\n{END}");
        assert!(
            matches!(read(&body), Err(ReadError::NotReadable(text)) if text.contains("no JSON"))
        );
    }

    #[test]
    fn what_is_no_answer_at_all_is_shown() {
        let page = "<html>Sign in</html>";
        assert_eq!(read(page), Err(ReadError::NoAnswer(page.into())));
        for body in [
            "",
            "{}",
            "data: [DONE]\n\n",
            "data: {\"choices\":[]}\n\ndata: [DONE]\n\n",
        ] {
            assert!(matches!(read(body), Err(ReadError::NoAnswer(_))), "{body}");
        }
        let nameless = PIECE.replace("\"content\":\"hello\"", "\"tool_calls\":[{\"index\":0}]");
        assert_eq!(
            read(&format!("{nameless}{END}")),
            Err(ReadError::NamelessCall)
        );
    }

    #[test]
    fn nothing_counts_after_the_end_mark() {
        let body = format!("{PIECE}data: [DONE]\n\ndata: garbage\n\n{PIECE}");
        assert_eq!(read(&body).unwrap().text, "hello");
    }

    #[test]
    fn an_endless_body_is_refused() {
        let mut reader = Reader::default();
        let piece = vec![b'{'; 1024 * 1024];
        let refused = (0..100).find_map(|_| reader.push(&piece).err());
        assert_eq!(refused, Some(ReadError::TooLong));
    }
}
