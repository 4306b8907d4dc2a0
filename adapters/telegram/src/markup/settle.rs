//! Makes of what was written a document that keeps Telegram's rules about entities within entities.

use super::Kind;
use super::document::{Document, Span};

/// The bars around a spoiler.
pub(super) const BARS: &str = "||";

/// `spans` nest, and are in the order of their ends. `bars` are where bars are to be left out.
pub(super) fn settle(written: &str, spans: Vec<Span>, mut bars: Vec<usize>) -> Document {
    bars.sort_unstable();
    let text = without_bars(written, &bars);
    let text = text.trim_end().to_owned();
    let moved = |at: usize| {
        let before = bars.partition_point(|bar| *bar < at);
        (at - before * BARS.len()).min(text.len())
    };
    // Of two with the same range, the outer one ends later.
    let moved_spans = spans.into_iter().rev().map(|span| Span {
        start: moved(span.start),
        end: moved(span.end),
        kind: span.kind,
    });
    let mut spans: Vec<Span> = moved_spans.filter_map(|span| span.trimmed(&text)).collect();
    spans.sort_by_key(Span::order);
    let spans = keep_code_apart(&text, spans);
    Document { text, spans }
}

fn without_bars(written: &str, bars: &[usize]) -> String {
    let mut text = String::with_capacity(written.len());
    let mut from = 0;
    for bar in bars {
        text.push_str(&written[from..*bar]);
        from = bar + BARS.len();
    }
    text.push_str(&written[from..]);
    text
}

/// Styles end before code and go on behind it. A spoiler does not: what it hides stays hidden, and the code in it is not marked as such.
fn keep_code_apart(text: &str, spans: Vec<Span>) -> Vec<Span> {
    let mut kept = Vec::with_capacity(spans.len());
    let mut open: Vec<Span> = Vec::new();
    let mut hidden_until = 0;
    for span in spans {
        while let Some(ended) = open.pop_if(|around| around.end <= span.start) {
            kept.extend(ended.trimmed(text));
        }
        let hidden = span.end <= hidden_until;
        match span.kind {
            Kind::Spoiler | Kind::Code if hidden => {}
            Kind::Code => {
                for around in open
                    .iter_mut()
                    .rev()
                    .filter(|around| around.kind.is_style())
                {
                    let before = Span {
                        start: around.start,
                        end: span.start,
                        kind: around.kind.clone(),
                    };
                    kept.extend(before.trimmed(text));
                    around.start = span.end;
                }
                kept.push(span);
            }
            Kind::Pre { .. } => kept.push(span),
            _ => {
                if span.kind == Kind::Spoiler {
                    hidden_until = span.end;
                }
                open.push(span);
            }
        }
    }
    kept.extend(open.into_iter().rev().filter_map(|span| span.trimmed(text)));
    kept.reverse();
    kept.sort_by_key(Span::order);
    kept
}
