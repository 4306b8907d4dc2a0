//! The Telegram Bot API, simulated: a strict server on loopback that any client of the API can talk to.
//!
//! A test makes a world (people, bots, chats, topics), lets people write in it, and reads what bots did:
//!
//! ```ignore
//! let server = Server::start(Settings::default()).await?;
//! let bot = server.bot(NewBot::named("my_bot"));
//! let alice = server.user("Alice");
//! let forum = server.forum("Forum", &[alice]);
//! server.admit(forum, bot.id, Standing::administrator(["can_manage_topics"]))?;
//! // Point the client at `server.url()` with `bot.token`, and let it poll.
//! let topic = server.topic(alice, forum, "Plans")?;
//! server.post(alice, topic, "/ask what now")?;
//! let sent = server.wait_for_sent(1, Duration::from_secs(5)).await?;
//! assert_eq!(sent[0].thread, topic.thread);
//! server.fault(Fault::new(Trouble::TooManyRequests { retry_after: 1 }).method("sendMessage"));
//! assert_eq!(server.violations(), []);
//! ```
//!
//! In other languages: the program `telegram` (`--listen 127.0.0.1:0 --until-eof`) prints its address as JSON; the same is done by `POST
//! /_control/VERB`, and `/_control/help` lists the verbs.
//!
//! **Invariant:** a request takes effect entirely or not at all. A message is where the answer says. An update stays until an offset, or a
//! webhook's 2xx, confirms it. What no correct client does is refused and kept in [`Server::violations`]; what the world does not allow is
//! refused in Telegram's words and is no violation.
//!
//! # What is as on Telegram
//!
//! - Requests: query, JSON, form and multipart; nested values may be JSON in a string. Every request is checked against the JSON Schema of
//!   Bot API 10.3 if it is at hand ([`Schema`]); no unknown parameter passes.
//! - Text: measured in UTF-16 units after formatting; control characters and blank edges go; entities beyond the hundredth are ignored, and
//!   those that split a character or leave the text are refused; commands, mentions, links, tags are found. HTML, MarkdownV2 and Markdown are read
//!   in their common part.
//! - Topics: `message_thread_id` with `is_topic_message`; General has no number in messages and takes none in sends, but needs 1 for typing;
//!   pseudo-threads of replies; closed, hidden and deleted topics; no word of a deletion; private chats with topics; channels' direct messages.
//! - Replies bring their topic along, unless they may be left out (`allow_sending_without_reply`); then the message lands in General.
//! - Groups: privacy mode, rights, standings, migration, blocking, deactivation. Bots hear neither themselves nor other bots.
//! - Updates: long polling with its confirmations and conflicts; webhooks with their secret, their order per chat, doubling delays,
//!   `Retry-After`, and answers that are requests. Times are scaled by [`Pace`]; by default nothing is throttled.
//! - Limits: files, captions, albums, buttons, commands, and on request flood control ([`Flood`]).
//!
//! # What is not
//!
//! - Methods that are listed in the schema and not simulated answer 501, as a violation. Inline mode, payments, stickers, polls, business accounts,
//!   usernames in place of chat numbers and the age limits of edits and deletions are absent.
//! - Webhooks are plain HTTP to loopback on any port; certificates and the four ports are not asked for. No update expires.
//! - Files are kept, never looked into: pictures have made-up sizes. Files by URL are not fetched.
//! - A few refusals that are published nowhere have texts of our own; all that clients are known to act on are the real ones.
//! - A closed connection ([`Trouble::Reset`]) ends without an answer, by a regular end of the stream.

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
