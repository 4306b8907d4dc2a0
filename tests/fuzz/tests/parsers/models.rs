//! What a model server sends: events, and the JSON in them.

use homing_agent_openai::client::{Answer, Chunk, Event, ReadError, Reader, SseDecoder, SseEvent};
use homing_fuzz::{Numbers, Reading, fuzz};

/// Places at which the input is cut, the same for the same input.
fn pieces(input: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    let first = input.first().copied().unwrap_or(0);
    let mut numbers = Numbers::from(input.len() as u64 * 31 + u64::from(first));
    let mut cut = move || {
        let (mut rest, mut pieces) = (input, Vec::new());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(1 + numbers.below(rest.len().min(40)));
            pieces.push(piece);
            rest = after;
        }
        pieces
    };
    let each_byte: Vec<&[u8]> = input.chunks(1).collect();
    [cut(), cut(), each_byte].into_iter()
}

fn events(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(decoder.push(piece).unwrap());
    }
    events.extend(decoder.end().unwrap());
    events
}

#[test]
fn events_do_not_depend_on_where_the_stream_is_split() {
    fuzz("sse", |input| {
        let whole = events(&[input]);
        for pieces in pieces(input) {
            assert_eq!(events(&pieces), whole, "{pieces:?}");
        }
        for event in &whole {
            assert!(!event.data.contains('\r') && !event.name.contains(['\r', '\n']));
        }
        // Without bytes that are no UTF-8, which become longer, nothing comes out that did not go in.
        let length: usize = whole.iter().map(|event| event.data.len()).sum();
        assert!(length <= input.len() || std::str::from_utf8(input).is_err());
        Reading::of(!whole.is_empty())
    });
}

/// What was heard, and what came of it.
fn read(pieces: &[&[u8]]) -> (Vec<Event>, Result<Answer, ReadError>) {
    let mut reader = Reader::default();
    let mut heard = Vec::new();
    for piece in pieces {
        match reader.push(piece) {
            Ok(news) => heard.extend(news),
            Err(error) => return (heard, Err(error)),
        }
    }
    match reader.end() {
        Ok(news) => heard.extend(news),
        Err(error) => return (heard, Err(error)),
    }
    let answer = reader.answer(&mut |number| format!("fresh{number}"));
    (heard, answer.map_err(|(error, _)| error))
}

/// As the body of a server that does not stream, and as the pieces of one that does: a line each.
#[test]
fn an_answer_is_what_was_heard_and_its_calls_can_be_told_apart() {
    fuzz("chat-chunk", |input| {
        let whole = read(&[input]);
        let mut stream = Vec::new();
        for line in input.split(|byte| *byte == b'\n') {
            let _read = Chunk::parse(&String::from_utf8_lossy(line));
            stream.extend_from_slice(b"data: ");
            stream.extend_from_slice(line);
            stream.extend_from_slice(b"\n\n");
        }
        let streamed = read(&[&stream]);
        for pieces in pieces(&stream) {
            let (heard, answer) = read(&pieces);
            assert_eq!(answer, streamed.1);
            // What stands in the same bytes as an error is not told.
            assert!(answer.is_err() || heard == streamed.0);
        }
        let accepted = [whole, streamed].into_iter().filter_map(|(heard, answer)| {
            holds(&heard, &answer.ok()?);
            Some(())
        });
        Reading::of(accepted.count() > 0)
    });
}

fn holds(heard: &[Event], answer: &Answer) {
    let mut text = String::new();
    let mut reasoning = String::new();
    let mut calls = 0;
    for event in heard {
        match event {
            Event::Text(piece) => text.push_str(piece),
            Event::Reasoning(piece) => reasoning.push_str(piece),
            Event::ToolCallStarted { .. } => calls += 1,
            Event::Retrying { .. } | Event::Restarted | Event::BrokenOff { .. } => {
                panic!("a reader does not ask")
            }
        }
    }
    assert_eq!(text, answer.text);
    let thought = answer.reasoning.as_ref().map_or("", |found| &found.text);
    assert_eq!(reasoning, thought);
    assert_eq!(calls, answer.tool_calls.len());
    for (index, call) in answer.tool_calls.iter().enumerate() {
        assert!(!call.name.is_empty() && !call.id.is_empty());
        let before = &answer.tool_calls[..index];
        assert!(before.iter().all(|other| other.id != call.id), "{call:?}");
    }
}
