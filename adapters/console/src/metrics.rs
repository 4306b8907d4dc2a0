//! `/healthz` and `/metrics`: numbers without names, so they need no login on loopback.

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use homing_ports::store::Totals;

use crate::console::App;
use crate::errors::ApiError;

pub(crate) async fn health() -> &'static str {
    "ok"
}

pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let totals = app.inside.queries.totals().await?;
    Ok((
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        exposition(&totals),
    )
        .into_response())
}

/// The Prometheus text format.
fn exposition(totals: &Totals) -> String {
    let mut text = String::new();
    gauge(
        &mut text,
        "homing_conversations",
        "Conversations in the store.",
        &[(String::new(), totals.conversations)],
    );
    gauge(
        &mut text,
        "homing_live_processes",
        "Background processes that have not ended.",
        &[(String::new(), totals.live_processes)],
    );
    gauge(
        &mut text,
        "homing_notifications",
        "Notifications by state.",
        &by_state(&totals.notifications),
    );
    gauge(
        &mut text,
        "homing_outbox",
        "Outbox items by state.",
        &by_state(&totals.outbox),
    );
    text
}

fn by_state(counts: &[(String, u64)]) -> Vec<(String, u64)> {
    counts
        .iter()
        .map(|(state, count)| (format!("{{state=\"{state}\"}}"), *count))
        .collect()
}

fn gauge(text: &mut String, name: &str, help: &str, samples: &[(String, u64)]) {
    // Writing into a String cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
    for (labels, value) in samples {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_read_as_prometheus_text() {
        let totals = Totals {
            conversations: 2,
            live_processes: 1,
            notifications: vec![("held".into(), 3)],
            outbox: vec![("sent".into(), 9)],
        };
        let text = exposition(&totals);
        assert!(text.contains("homing_conversations 2\n"));
        assert!(text.contains(
            "# TYPE homing_notifications gauge\nhoming_notifications{state=\"held\"} 3\n"
        ));
    }
}
