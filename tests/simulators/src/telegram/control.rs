//! The world in the hands of programs that are not written in Rust: `/_control/…`.
//!
//! Everything is `POST /_control/VERB` with a JSON object, and answers `{"ok": true, "result": …}`, or 400 with `{"ok": false, "error": "…"}`.
//! A chat is its number, and for a private chat `"bot"` as well, the bot's number. `GET /_control/help` lists the verbs.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde::Deserialize;
use serde_json::{Value, json};

use super::faults::Fault;
use super::ids::{Chat, ChatId, MessageId, Place, ThreadId, UserId};
use super::server::{Bot, Server};
use super::serving::Shared;
use super::wishes::{Impossible, Kind, NewBot, NewUser, Post, Standing, TopicEvent};

/// In bytes, of what is told to the world.
const LARGEST: usize = 64 * 1024 * 1024;
/// The longest that `wait` waits.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

const VERBS: &str = "\
bot {username, name?, reads_all?, topics?, people_create_topics?} -> {id, token, username}; user {first_name, last_name?, username?, language?, id?} -> id; \
private_chat {bot, person} -> id; chat {kind: group|supergroup|forum|channel|direct_messages, title, members} -> id; \
admit {chat, bot?, who, standing}; change_member {by, chat, who, standing} (standing: creator|member|restricted|left|kicked|{administrator: [rights]}); \
topic {by, chat, bot?, name} -> thread; topic_event {by, chat, bot?, thread?, event: closed|reopened|deleted|hidden|unhidden|{renamed: name}}; \
post {by, chat, bot?, thread?, text?, entities?, reply_to?, file?: {kind, name?, mime_type?, bytes?, size?}, extra?} -> message_id; edit {by, chat, bot?, message, text}; \
delete {chat, bot?, message}; press {by, chat, bot?, message, data} -> query id; react {by, chat, bot?, message, emoji}; \
block {chat, bot}; unblock {chat, bot}; deactivate {person}; delete_chat {chat}; migrate {by, chat} -> id; expire_callbacks; \
repeat_updates {bot, count}; reorder_updates {bot, polls}; foreign_poller {bot}; stop_generation {chat, bot, draft}; push_raw {bot, update} -> update_id; \
fault {trouble, method?, chat?, bot?, which?: {next: n}|{every: n}|all}; clear_faults; \
sent, requests, actions, drafts, violations, callback_answers -> what bots did; messages {chat, bot?, thread?}; file {file_id} -> text; \
wait {sent?: n, answers?: n, requests?: n, limit_ms?} -> waits until there are so many";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verb {
    Bot(NewBot),
    User(NewUser),
    PrivateChat {
        bot: UserId,
        person: UserId,
    },
    Chat {
        kind: Kind,
        title: String,
        #[serde(default)]
        members: Vec<UserId>,
    },
    Admit {
        #[serde(flatten)]
        at: At,
        who: UserId,
        standing: Standing,
    },
    ChangeMember {
        by: UserId,
        #[serde(flatten)]
        at: At,
        who: UserId,
        standing: Standing,
    },
    Topic {
        by: UserId,
        #[serde(flatten)]
        at: At,
        name: String,
    },
    TopicEvent {
        by: UserId,
        #[serde(flatten)]
        at: At,
        event: TopicEvent,
    },
    Post {
        by: UserId,
        #[serde(flatten)]
        at: At,
        #[serde(flatten)]
        post: Value,
    },
    Edit {
        by: UserId,
        #[serde(flatten)]
        at: At,
        message: MessageId,
        text: String,
    },
    Delete {
        #[serde(flatten)]
        at: At,
        message: MessageId,
    },
    Press {
        by: UserId,
        #[serde(flatten)]
        at: At,
        message: MessageId,
        data: String,
    },
    React {
        by: UserId,
        #[serde(flatten)]
        at: At,
        message: MessageId,
        emoji: Vec<String>,
    },
    Block(At),
    Unblock(At),
    DeleteChat(At),
    Deactivate {
        person: UserId,
    },
    ExpireCallbacks {},
    RepeatUpdates {
        bot: UserId,
        count: usize,
    },
    ReorderUpdates {
        bot: UserId,
        polls: usize,
    },
    ForeignPoller {
        bot: UserId,
    },
    Migrate {
        by: UserId,
        chat: ChatId,
    },
    StopGeneration {
        #[serde(flatten)]
        at: At,
        draft: i64,
    },
    PushRaw {
        bot: UserId,
        update: Value,
    },
    Fault(Fault),
    ClearFaults {},
    Sent {},
    Requests {},
    Actions {},
    Drafts {},
    Violations {},
    CallbackAnswers {},
    Messages(At),
    File {
        file_id: String,
    },
    Wait {
        #[serde(default)]
        sent: usize,
        #[serde(default)]
        answers: usize,
        #[serde(default)]
        requests: usize,
        limit_ms: Option<u64>,
    },
}

/// A place, flat.
#[derive(Debug, Clone, Copy, Deserialize)]
struct At {
    chat: ChatId,
    #[serde(default)]
    bot: Option<UserId>,
    #[serde(default)]
    thread: Option<ThreadId>,
}

impl At {
    fn chat(self) -> Chat {
        Chat {
            id: self.chat,
            bot: self.bot,
        }
    }

    fn place(self) -> Place {
        Place {
            chat: self.chat(),
            thread: self.thread,
        }
    }
}

/// The status and body of the answer.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    verb: &str,
    request: Request<Body>,
) -> (u16, Value) {
    if verb == "help" {
        return (200, json!({"ok": true, "result": VERBS}));
    }
    let done = match read(verb, request).await {
        Ok(verb) => carry_out(&Server::view(shared), verb).await,
        Err(error) => Err(error),
    };
    match done {
        Ok(result) => (200, json!({"ok": true, "result": result})),
        Err(error) => (400, json!({"ok": false, "error": error})),
    }
}

async fn read(verb: &str, request: Request<Body>) -> Result<Verb, String> {
    let bytes = to_bytes(request.into_body(), LARGEST)
        .await
        .map_err(|error| format!("the body cannot be read: {error}"))?;
    let body: Value = match bytes.is_empty() {
        true => json!({}),
        false => serde_json::from_slice(&bytes)
            .map_err(|error| format!("the body is no JSON: {error}"))?,
    };
    serde_json::from_value(json!({verb: body}))
        .map_err(|error| format!("{verb}: {error}; /_control/help lists what there is"))
}

async fn carry_out(server: &Server, verb: Verb) -> Result<Value, String> {
    if let Verb::Wait {
        sent,
        answers,
        requests,
        limit_ms,
    } = verb
    {
        let limit = limit_ms.map_or(LONGEST_WAIT, Duration::from_millis);
        let enough = |server: &Server| {
            (server.sent().len() >= sent
                && server.callback_answers().len() >= answers
                && server.requests().len() >= requests)
                .then_some(json!(true))
        };
        let waited = server.wait_for(limit.min(LONGEST_WAIT), enough).await;
        return waited.map_err(|error| error.to_string());
    }
    make(server, &verb)
        .or_else(|| read_out(server, &verb))
        .unwrap_or_else(|| act(server, verb))
        .map_err(|error| error.to_string())
}

type Done = Result<Value, Impossible>;

/// Verbs that make the world. `None` for others.
fn make(server: &Server, verb: &Verb) -> Option<Done> {
    Some(Ok(match verb {
        Verb::Bot(new) => {
            let bot = server.bot(new.clone());
            json!({"id": bot.id, "token": bot.token, "username": bot.username})
        }
        Verb::User(new) => json!(server.user(new.clone())),
        Verb::PrivateChat { bot, person } => {
            json!(server.private_chat(&known(*bot), *person).id)
        }
        Verb::Chat {
            kind,
            title,
            members,
        } => json!(server.chat(*kind, title, members).id),
        Verb::Fault(fault) => {
            server.fault(fault.clone());
            json!(true)
        }
        Verb::ExpireCallbacks {} => {
            server.expire_callbacks();
            json!(true)
        }
        Verb::ClearFaults {} => {
            server.clear_faults();
            json!(true)
        }
        _ => return None,
    }))
}

/// Verbs that only read. `None` for others.
fn read_out(server: &Server, verb: &Verb) -> Option<Done> {
    Some(Ok(match verb {
        Verb::Sent {} => json!(server.sent()),
        Verb::Requests {} => json!(server.requests()),
        Verb::Actions {} => json!(server.actions()),
        Verb::Drafts {} => json!(server.drafts()),
        Verb::Violations {} => json!(server.violations()),
        Verb::CallbackAnswers {} => json!(server.callback_answers()),
        Verb::Messages(at) => json!(server.messages_in(at.place())),
        Verb::File { file_id } => match server.file(file_id) {
            Some(bytes) => json!(String::from_utf8_lossy(&bytes)),
            None => return Some(Err(Impossible::because("there is no such file"))),
        },
        _ => return None,
    }))
}

/// What people do.
fn act(server: &Server, verb: Verb) -> Done {
    let yes = |()| json!(true);
    match verb {
        Verb::Admit { at, who, standing } => server.admit(at.chat(), who, standing).map(yes),
        Verb::ChangeMember {
            by,
            at,
            who,
            standing,
        } => server.change_member(by, at.chat(), who, standing).map(yes),
        Verb::Topic { by, at, name } => server
            .topic(by, at.chat(), &name)
            .map(|place| json!(place.thread)),
        Verb::TopicEvent { by, at, event } => server.topic_event(by, at.place(), event).map(yes),
        Verb::Post { by, at, post } => {
            let post = Post::deserialize(post)
                .map_err(|error| Impossible::because(format!("post: {error}")))?;
            server.post(by, at.place(), post).map(|id| json!(id))
        }
        Verb::Edit {
            by,
            at,
            message,
            text,
        } => server.edit(by, at.chat(), message, &text).map(yes),
        Verb::Delete { at, message } => server.delete(at.chat(), message).map(yes),
        Verb::Press {
            by,
            at,
            message,
            data,
        } => server
            .press(by, at.chat(), message, &data)
            .map(|query| json!(query)),
        Verb::React {
            by,
            at,
            message,
            emoji,
        } => {
            let emoji: Vec<&str> = emoji.iter().map(String::as_str).collect();
            server.react(by, at.chat(), message, &emoji).map(yes)
        }
        Verb::Block(at) => server.block(at.chat()).map(yes),
        Verb::Unblock(at) => server.unblock(at.chat()).map(yes),
        Verb::DeleteChat(at) => server.delete_chat(at.chat()).map(yes),
        Verb::Deactivate { person } => server.deactivate(person).map(yes),
        Verb::RepeatUpdates { bot, count } => server.repeat_updates(&known(bot), count).map(yes),
        Verb::ReorderUpdates { bot, polls } => server.reorder_updates(&known(bot), polls).map(yes),
        Verb::ForeignPoller { bot } => server.foreign_poller(&known(bot)).map(yes),
        Verb::Migrate { by, chat } => server
            .migrate(
                by,
                Chat {
                    id: chat,
                    bot: None,
                },
            )
            .map(|new| json!(new.id)),
        Verb::StopGeneration { at, draft } => server.stop_generation(at.chat(), draft).map(yes),
        Verb::PushRaw { bot, update } => server.push_raw(&known(bot), update).map(|id| json!(id)),
        other => Err(Impossible::because(format!(
            "{other:?} is no act of people"
        ))),
    }
}

/// A bot by its number is enough here.
fn known(id: UserId) -> Bot {
    Bot {
        id,
        username: String::new(),
        token: String::new(),
    }
}
