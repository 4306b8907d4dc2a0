//! Settings that differ from the defaults, by their dotted names.

use std::time::Duration;

use homing_domain::key::{KeyError, SessionKey};
use homing_domain::verdict::{AfterAutoReset, Unaddressed, WhenAway};
use homing_gateway::{AskInBackground, AutoReset, Busy, OnReset, Settings};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use super::span;

/// The scenario's own steps say when a policy fires.
const DAY: Duration = Duration::from_secs(86_400);

/// Settings as they were written; every one of them is known to be good.
#[derive(Debug, Clone, Default)]
pub struct Config {
    values: Map<String, Value>,
}

/// Everything that a file can set.
#[derive(Debug, Clone)]
pub struct Configured {
    pub gateway: Settings,
    pub slow_background_turns: bool,
    /// Turns of people that never end by themselves, whichever gateway runs them.
    pub slow_turns: bool,
    /// What every background turn does instead of telling.
    pub background_call: Option<String>,
    /// Kills that the supervisors do not take, of each gateway.
    pub refused_kills: u32,
    pub per_user_in_groups: Option<bool>,
    pub per_user_in_threads: Option<bool>,
}

impl Config {
    /// `base` with these settings.
    ///
    /// # Errors
    /// Names the setting that is unknown, or the value that it does not take.
    pub fn apply(&self, base: Settings) -> Result<Configured, String> {
        let mut all = Configured {
            gateway: base,
            slow_background_turns: false,
            slow_turns: false,
            background_call: None,
            refused_kills: 0,
            per_user_in_groups: None,
            per_user_in_threads: None,
        };
        for (name, value) in &self.values {
            set(&mut all, name, value).map_err(|problem| format!("`{name}`: {problem}"))?;
        }
        Ok(all)
    }

    /// The same settings, with the home conversation where `to` says.
    pub fn rename_home(&mut self, to: impl FnOnce(&SessionKey) -> SessionKey) {
        if let Some(home) = self.values.get_mut("notifications.home")
            && let Some(key) = home.as_str().and_then(|text| text.parse().ok())
        {
            *home = Value::String(to(&key).to_string());
        }
    }

    /// As JSON, to hand it to another process.
    pub fn to_json(&self) -> Value {
        Value::Object(self.values.clone())
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Config, D::Error> {
        let config = Config {
            values: Map::deserialize(deserializer)?,
        };
        config
            .apply(Settings::default())
            .map_err(de::Error::custom)?;
        Ok(config)
    }
}

fn set(all: &mut Configured, name: &str, value: &Value) -> Result<(), String> {
    let gateway = &mut all.gateway;
    match name {
        "processes.on_reset" => {
            gateway.on_reset = word(value, &[("keep", OnReset::Keep), ("kill", OnReset::Kill)])?
        }
        "processes.kill_grace" => gateway.kill_grace = span_of(value)?,
        "sessions.reset" => {
            gateway.reset = word(
                value,
                &[
                    ("off", AutoReset::Off),
                    ("idle", AutoReset::Idle { after: DAY }),
                    // The scenario says when it fires.
                    ("daily", AutoReset::Idle { after: DAY }),
                ],
            )?;
        }
        "sessions.keepalive_max_age" => gateway.keepalive_max_age = span_of(value)?,
        "sessions.after_auto_reset" => {
            let words = [
                ("notice", AfterAutoReset::Notice),
                ("deliver", AfterAutoReset::Deliver),
                ("drop", AfterAutoReset::Drop),
            ];
            gateway.verdict.after_auto_reset = word(value, &words)?;
        }
        "windows.when_away" => {
            gateway.verdict.when_away =
                word(value, &[("hold", WhenAway::Hold), ("run", WhenAway::Run)])?
        }
        "notifications.hold_for" => gateway.verdict.hold_for = span_of(value)?,
        "notifications.unaddressed" => {
            gateway.verdict.unaddressed = word(
                value,
                &[("drop", Unaddressed::Drop), ("home", Unaddressed::Home)],
            )?;
        }
        "notifications.home" => {
            let key = value
                .as_str()
                .ok_or_else(|| format!("{value} is not a session key"))?;
            gateway.home = Some(key.parse().map_err(|error: KeyError| error.to_string())?);
        }
        "sessions.per_user_in_groups" | "keys.per_user_in_groups" | "per_user_in_groups" => {
            all.per_user_in_groups = Some(yes_or_no(value)?)
        }
        "sessions.per_user_in_threads" | "keys.per_user_in_threads" | "per_user_in_threads" => {
            all.per_user_in_threads = Some(yes_or_no(value)?)
        }
        "sessions.busy" => {
            let words = [
                ("queue", Busy::Queue),
                ("steer", Busy::Steer),
                ("interrupt", Busy::Interrupt),
            ];
            gateway.busy = word(value, &words)?;
        }
        "sessions.approve_within" => gateway.approve_within = span_of(value)?,
        "sessions.approve_in_background" => {
            let words = [
                ("refuse", AskInBackground::Refuse),
                ("ask", AskInBackground::Ask),
            ];
            gateway.approve_in_background = word(value, &words)?;
        }
        "test.background_call" => {
            let call = value
                .as_str()
                .ok_or_else(|| format!("{value} is not a text"))?;
            all.background_call = Some(call.to_owned());
        }
        "test.slow_turns" => all.slow_turns = yes_or_no(value)?,
        "test.refused_kills" => {
            all.refused_kills = value
                .as_u64()
                .and_then(|count| count.try_into().ok())
                .ok_or_else(|| format!("{value} is not a count"))?;
        }
        "test.slow_background_turns" => all.slow_background_turns = yes_or_no(value)?,
        _ => return Err("there is no such setting".into()),
    }
    Ok(())
}

fn word<T: Clone>(value: &Value, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
    found.map(|(_, meaning)| meaning.clone()).ok_or_else(|| {
        let allowed: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("{value} is none of {}", allowed.join(", "))
    })
}

fn span_of(value: &Value) -> Result<Duration, String> {
    span::parse(
        value
            .as_str()
            .ok_or_else(|| format!("{value} is not a span; write it like \"15s\""))?,
    )
}

fn yes_or_no(value: &Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| format!("{value} is neither true nor false"))
}
