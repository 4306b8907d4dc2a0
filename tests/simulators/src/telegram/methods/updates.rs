//! How a bot gets its updates: by polling, or by a webhook.

use serde_json::{Value, json};

use super::super::call::Call;
use super::super::errors::{Answer, ApiError};
use super::super::settings::Pace;
use super::super::updates::{Ending, Poll};
use super::super::webhook::Webhook;

/// A poll begins: what it confirms is gone.
pub(in super::super) fn wanted_poll(call: &mut Call<'_>, pace: &Pace) -> Result<Poll, ApiError> {
    let offset = call.params.integer("offset")?.unwrap_or(0);
    let limit = call.params.integer("limit")?.unwrap_or(100);
    // Whatever makes no sense becomes what does, as on Telegram.
    let limit = usize::try_from(limit)
        .ok()
        .filter(|limit| (1..=100).contains(limit))
        .unwrap_or(100);
    let timeout = call.params.integer("timeout")?.unwrap_or(0);
    let allowed: Option<Vec<String>> = call.params.nested("allowed_updates")?;
    let wait = pace.seconds(u64::try_from(timeout).unwrap_or(0));
    let me = call.me_mut()?;
    if me.webhook.is_some() {
        return Err(ApiError::webhook_is_active());
    }
    if let Some(allowed) = allowed {
        me.queue.allow(&allowed);
    }
    let mut poll = me.queue.begin(offset, limit, wait.min(pace.longest_poll));
    me.queue
        .slow_down(&mut poll, offset, pace.same_offset.as_ref());
    Ok(poll)
}

/// Where nobody can wait: in the answer to a webhook.
pub(super) fn get_updates_at_once(call: &mut Call<'_>) -> Answer {
    let poll = wanted_poll(call, &Pace::default())?;
    let taken = call.me_mut()?.queue.take(&poll)?;
    Ok(Value::Array(taken.unwrap_or_default()))
}

pub(super) fn set_webhook(call: &mut Call<'_>) -> Answer {
    let url = call.params.text("url").unwrap_or_default().to_owned();
    if url.is_empty() {
        return delete_webhook(call);
    }
    check_url(&url)?;
    let secret = call.params.text("secret_token").map(str::to_owned);
    let good = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if secret
        .as_ref()
        .is_some_and(|secret| !(1..=256).contains(&secret.len()) || !secret.chars().all(good))
    {
        return Err(ApiError::misuse(
            "secret token contains unallowed characters",
        ));
    }
    let connections = call.params.integer("max_connections")?.unwrap_or(40);
    let connections = usize::try_from(connections.clamp(1, 100)).unwrap_or(1);
    let allowed: Option<Vec<String>> = call.params.nested("allowed_updates")?;
    let dropped = call.params.flag("drop_pending_updates");
    let me = call.me_mut()?;
    if dropped {
        me.queue.drop_pending();
    }
    if let Some(allowed) = allowed {
        me.queue.allow(&allowed);
    }
    me.queue.end_poll(Ending::Webhook);
    me.webhook = Some(Webhook::new(url, secret, connections));
    Ok(json!(true))
}

/// A real server wants HTTPS and one of four ports. This one wants loopback, so that a test's updates stay on its machine.
fn check_url(url: &str) -> Result<(), ApiError> {
    let bad = |why: &str| Err(ApiError::misuse(format!("bad webhook: {why}")));
    let Ok(url) = reqwest::Url::parse(url) else {
        return bad("invalid URL specified");
    };
    let host = url.host_str().unwrap_or_default();
    match ["127.0.0.1", "localhost", "[::1]"].contains(&host) && url.scheme() == "http" {
        true => Ok(()),
        false => bad("the simulator delivers to http:// on loopback only"),
    }
}

pub(super) fn delete_webhook(call: &mut Call<'_>) -> Answer {
    let dropped = call.params.flag("drop_pending_updates");
    let me = call.me_mut()?;
    me.webhook = None;
    if dropped {
        me.queue.drop_pending();
    }
    Ok(json!(true))
}

pub(super) fn get_webhook_info(call: &mut Call<'_>) -> Answer {
    let me = call.me()?;
    let mut shown = json!({
        "url": "",
        "has_custom_certificate": false,
        "pending_update_count": me.queue.pending().count(),
    });
    if let Some(webhook) = &me.webhook {
        shown["url"] = json!(webhook.url);
        shown["max_connections"] = json!(webhook.connections);
        shown["ip_address"] = json!("127.0.0.1");
        if let Some((date, message)) = &webhook.last_error {
            shown["last_error_date"] = json!(date);
            shown["last_error_message"] = json!(message);
        }
    }
    if let Some(allowed) = &me.queue.allowed {
        shown["allowed_updates"] = json!(allowed);
    }
    Ok(shown)
}
