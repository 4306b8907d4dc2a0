//! Telegram: groups, forum topics, private chats, channels and what people write to channels.
//!
//! Updates come by long polling or by webhook, each is committed through [`Inbox`](homing_ports::inbox::Inbox), and only then confirmed to
//! Telegram (OWN-70). Messages leave by one honest attempt each; the outbox decides what follows.
//!
//! **Invariant:** one update that cannot be understood stops nothing and is not lost. The token is in no log, error or debug text.
//! **Absent on purpose:** teloxide's own polling and sending. It confirms updates whether they were stored or not, sleeps ten seconds on every 5xx,
//! and reads an update as a whole: one new kind of entity would empty a message without a word. Its types and requests are used; the calls go
//! through [`api`], which also knows what is younger than teloxide's Bot API 9.1.

mod access;
mod albums;
mod api;
mod asked;
mod budget;
mod compose;
mod doctor;
mod fetch;
mod inbound;
mod intake;
mod live;
pub mod markup;
mod outcome;
mod place;
mod platform;
mod poll;
mod reading;
mod sending;
mod settings;
mod state;
mod telegram;
mod token;
mod utf16;
mod webhook;

pub use doctor::{Finding, Grade};
pub use reqwest::Url;
pub use settings::{
    Budgets, ChatRule, CommandName, Mode, Pace, Rate, Secret, SettingsError, TelegramSettings,
};
pub use telegram::{ServeError, StartError, Telegram};
pub use token::{Token, TokenError};
