//! Updates brought to a webhook.
//!
//! **Invariant:** updates of one chat arrive one after another, in order, each until a 2xx; chats do not wait for each other.
//! **Absent on purpose:** giving up. Telegram drops an update after a day, and a webhook that says 410 for most of one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use super::ids::UserId;
use super::methods;
use super::params::Params;
use super::serving::{self, Shared};
use super::settings::Pace;
use super::world::World;

/// The longest that a webhook may ask to wait, in Telegram's seconds.
const LONGEST_RETRY_AFTER: u64 = 3600;

static SERIAL: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct Webhook {
    pub url: String,
    secret: Option<String>,
    /// How many deliveries may be under way.
    pub connections: usize,
    pub last_error: Option<(i64, String)>,
    lanes: BTreeMap<i64, Lane>,
    /// So that a delivery for an earlier setting does not count for this one.
    serial: u64,
}

/// Updates that wait for each other.
#[derive(Debug, Default)]
struct Lane {
    under_way: bool,
    failures: u32,
    not_before: Option<Instant>,
}

/// One update on its way.
#[derive(Debug)]
struct Parcel {
    bot: UserId,
    serial: u64,
    lane: i64,
    update: i64,
    body: Value,
    url: String,
    secret: Option<String>,
}

/// How a delivery ended.
#[derive(Debug)]
enum Receipt {
    /// With a method to carry out, perhaps.
    Taken(Option<Value>),
    Refused {
        why: String,
        retry_after: Option<u64>,
    },
}

impl Webhook {
    pub fn new(url: String, secret: Option<String>, connections: usize) -> Webhook {
        Webhook {
            url,
            secret,
            connections,
            last_error: None,
            lanes: BTreeMap::new(),
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
        }
    }
}

/// Brings updates until it is aborted.
pub(super) async fn deliver(shared: Arc<Shared>) {
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(shared.pace.webhook_timeout)
        .build();
    let Ok(client) = client else {
        tracing::error!("no webhook will be called: the HTTP client could not be made");
        return;
    };
    let mut changes = shared.changes();
    let mut under_way = JoinSet::new();
    loop {
        let (due, next) = due(&mut shared.world(), Instant::now());
        for parcel in due {
            under_way.spawn(bring(client.clone(), Arc::clone(&shared), parcel));
        }
        let far = Instant::now() + Duration::from_secs(3600);
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            Some(_) = under_way.join_next() => {}
            () = tokio::time::sleep_until(next.unwrap_or(far).into()) => {}
        }
    }
}

/// What can be brought now, and when to look again at the latest.
fn due(world: &mut World, now: Instant) -> (Vec<Parcel>, Option<Instant>) {
    let (mut parcels, mut next) = (Vec::new(), None::<Instant>);
    for bot in world.bots.values_mut() {
        let Some(webhook) = &mut bot.webhook else {
            continue;
        };
        bot.queue.repeat_now();
        let mut seen = BTreeSet::new();
        for update in bot.queue.pending() {
            // The first of every lane.
            if !seen.insert(update.lane) {
                continue;
            }
            let busy = webhook.lanes.values().filter(|lane| lane.under_way).count();
            let lane = webhook.lanes.entry(update.lane).or_default();
            if lane.under_way || busy >= webhook.connections {
                continue;
            }
            if let Some(at) = lane.not_before.filter(|at| *at > now) {
                next = Some(next.map_or(at, |next| next.min(at)));
                continue;
            }
            lane.under_way = true;
            parcels.push(Parcel {
                bot: bot.id,
                serial: webhook.serial,
                lane: update.lane,
                update: update.id,
                body: update.body.clone(),
                url: webhook.url.clone(),
                secret: webhook.secret.clone(),
            });
        }
    }
    (parcels, next)
}

async fn bring(client: reqwest::Client, shared: Arc<Shared>, parcel: Parcel) {
    let mut request = client.post(&parcel.url).json(&parcel.body);
    if let Some(secret) = &parcel.secret {
        request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
    }
    let receipt = match request.send().await {
        Ok(response) => read(response).await,
        Err(error) => Receipt::Refused {
            why: match error.is_timeout() {
                true => "Read timeout expired".into(),
                false => "Connection refused".into(),
            },
            retry_after: None,
        },
    };
    let reply = settle(&mut shared.world(), &shared.pace, &parcel, receipt);
    if let Some(reply) = reply {
        carry_out(&shared, parcel.bot, reply);
    }
    shared.changed();
}

async fn read(response: reqwest::Response) -> Receipt {
    let status = response.status();
    let retry_after = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.parse().ok());
    if !status.is_success() {
        return Receipt::Refused {
            why: format!("Wrong response from the webhook: {status}"),
            retry_after,
        };
    }
    let body: Option<Value> = response.json().await.ok();
    Receipt::Taken(body.filter(|body| body["method"].is_string()))
}

/// What the delivery means for its lane. A method to carry out is returned.
fn settle(world: &mut World, pace: &Pace, parcel: &Parcel, receipt: Receipt) -> Option<Value> {
    let bot = world.bots.get_mut(&parcel.bot)?;
    let webhook = bot
        .webhook
        .as_mut()
        .filter(|webhook| webhook.serial == parcel.serial)?;
    let lane = webhook.lanes.entry(parcel.lane).or_default();
    lane.under_way = false;
    match receipt {
        Receipt::Taken(reply) => {
            webhook.lanes.remove(&parcel.lane);
            bot.queue.delivered(parcel.update);
            reply
        }
        Receipt::Refused { why, retry_after } => {
            let doubled = pace
                .webhook_retry
                .saturating_mul(2_u32.saturating_pow(lane.failures));
            let asked = retry_after.map(|seconds| pace.seconds(seconds.min(LONGEST_RETRY_AFTER)));
            let wait = asked.unwrap_or(doubled.min(pace.longest_webhook_retry));
            lane.failures += 1;
            lane.not_before = Some(Instant::now() + wait);
            webhook.last_error = Some((World::now(), why));
            None
        }
    }
}

/// The answer to an update may be a request. Nobody learns how it ended, except the log.
fn carry_out(shared: &Shared, bot: UserId, reply: Value) {
    let Value::Object(fields) = reply else {
        return;
    };
    let mut params = Params::default();
    let mut name = String::new();
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("method", Value::String(method)) => name = method,
            (_, value) => params.put(field, value),
        }
    }
    let known = methods::find(&name);
    let entry = serving::log(
        shared,
        bot,
        known.map_or(&name, |known| known.name),
        &params,
    );
    let answer = match known {
        Some(method) => serving::carry_out(shared, bot, method, &params, None),
        None => Err(super::errors::ApiError::no_method()),
    };
    serving::settle(shared, entry, serving::outcome(&answer, false));
}
