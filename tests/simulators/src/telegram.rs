//! The Telegram Bot API, simulated.

mod announce;
mod call;
mod control;
mod errors;
mod faults;
mod files;
mod flood;
mod ids;
mod keyboard;
mod log;
mod markup;
mod methods;
mod params;
mod people;
mod reading;
mod room;
mod schema;
mod server;
mod serving;
mod settings;
mod show;
mod text;
mod topics;
mod updates;
mod webhook;
mod wishes;
mod world;

pub use faults::{Effect, Fault, Trouble, Which};
pub use ids::{Chat, ChatId, GENERAL, MessageId, Place, ThreadId, UserId};
pub use log::{Action, CallbackAnswer, Draft, Earlier, Media, Outcome, Request, Sent, Violation};
pub use server::{Bot, Server, StartError, TimedOut};
pub use settings::{Budget, Flood, Pace, RichMessages, SameOffset, Schema, Settings};
pub use wishes::{Impossible, Kind, NewBot, NewFile, NewUser, Post, Standing, TopicEvent};
