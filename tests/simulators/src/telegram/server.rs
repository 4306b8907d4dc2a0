//! The handle of the test that owns the world.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::faults::Fault;
use super::ids::{Chat, ChatId, MessageId, Place, ThreadId, UserId};
use super::log::{Action, CallbackAnswer, Draft, Request, Sent, Violation};
use super::schema::Schemas;
use super::serving::{self, Shared};
use super::settings::{Flood, Settings};
use super::updates::Ending;
use super::webhook;
use super::wishes::{Impossible, Kind, NewBot, NewUser, Post, Standing, TopicEvent};
use super::world::World;

/// A running simulator. Dropping it ends it. It outlives the bots that talk to it.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
}

/// A bot, and how it proves to be itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bot {
    pub id: UserId,
    pub username: String,
    /// What stands in the path of its requests: `123:abc`.
    pub token: String,
}

/// The server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("it listens on loopback only, and {0} is not; use 127.0.0.1:0")]
    NotLoopback(SocketAddr),
    #[error("it cannot listen there")]
    Listen(#[source] io::Error),
    #[error("the schema {path} is of no use: {why}")]
    Schema { path: String, why: String },
}

/// What was waited for did not come.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it did not happen within {limit:?}; what did: {seen}")]
pub struct TimedOut {
    pub limit: Duration,
    /// The last few requests and their outcomes.
    pub seen: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Starting, and making the world. Nothing here is an update for a bot.
impl Server {
    /// Listens on a free port of loopback, unless told otherwise.
    pub async fn start(settings: Settings) -> Result<Server, StartError> {
        if !settings.listen.ip().is_loopback() {
            return Err(StartError::NotLoopback(settings.listen));
        }
        let schemas =
            Schemas::read(&settings.schema).map_err(|(path, why)| StartError::Schema {
                path: path.display().to_string(),
                why,
            })?;
        let listener = TcpListener::bind(settings.listen)
            .await
            .map_err(StartError::Listen)?;
        let address = listener.local_addr().map_err(StartError::Listen)?;
        let world = World::new(
            settings.flood,
            settings.rich_messages,
            settings.download_limit,
        );
        let shared = Arc::new(Shared::new(
            world,
            settings.pace,
            schemas,
            settings.control,
            settings.upload_limit,
        ));
        let tasks = vec![
            tokio::spawn(serving::serve(listener, Arc::clone(&shared))),
            tokio::spawn(webhook::deliver(Arc::clone(&shared))),
        ];
        Ok(Server {
            shared,
            address,
            tasks,
        })
    }

    /// The same world for the control API. It ends nothing when it is dropped.
    pub(super) fn view(shared: &Arc<Shared>) -> Server {
        Server {
            shared: Arc::clone(shared),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            tasks: Vec::new(),
        }
    }

    /// `http://127.0.0.1:PORT`, the root that clients take.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Whether requests are checked against the schema of the Bot API.
    pub fn has_schema(&self) -> bool {
        self.shared.schemas.is_some()
    }

    pub fn bot(&self, new: NewBot) -> Bot {
        let mut world = self.shared.world();
        let bot = world.add_bot(new);
        Bot {
            id: bot.id,
            username: bot.username.clone(),
            token: bot.token.clone(),
        }
    }

    pub fn user(&self, new: impl Into<NewUser>) -> UserId {
        self.shared.world().add_user(new.into())
    }

    /// The private chat of a person who has started the bot.
    pub fn private_chat(&self, bot: &Bot, person: UserId) -> Chat {
        self.shared.world().add_private(bot.id, person)
    }

    /// A chat of several; the first of `members` is its creator. Bots join it with [`Server::admit`].
    pub fn chat(&self, kind: Kind, title: &str, members: &[UserId]) -> Chat {
        self.shared.world().add_chat(kind, title, members)
    }

    pub fn group(&self, title: &str, members: &[UserId]) -> Chat {
        self.chat(Kind::Group, title, members)
    }

    pub fn supergroup(&self, title: &str, members: &[UserId]) -> Chat {
        self.chat(Kind::Supergroup, title, members)
    }

    pub fn forum(&self, title: &str, members: &[UserId]) -> Chat {
        self.chat(Kind::Forum, title, members)
    }

    pub fn channel(&self, title: &str, members: &[UserId]) -> Chat {
        self.chat(Kind::Channel, title, members)
    }

    pub fn direct_messages(&self, title: &str, members: &[UserId]) -> Chat {
        self.chat(Kind::DirectMessages, title, members)
    }

    /// Gives somebody a standing in a chat without telling anybody.
    pub fn admit(&self, chat: Chat, who: UserId, standing: Standing) -> Result<(), Impossible> {
        let mut world = self.shared.world();
        world.room_mut(chat)?.members.insert(who, standing);
        Ok(())
    }

    /// The chat that a bot sees under this number.
    pub fn chat_seen_by(&self, bot: &Bot, id: ChatId) -> Option<Chat> {
        self.shared.world().chat_seen_by(bot.id, id)
    }
}

/// What people do. Bots that may know of it get an update.
impl Server {
    /// A person creates a topic. Without a name it gets a placeholder that the bot is expected to replace.
    pub fn topic(&self, by: UserId, chat: Chat, name: &str) -> Result<Place, Impossible> {
        let thread = self.happens(|world| world.person_creates_topic(by, chat, name))?;
        Ok(chat.topic(thread))
    }

    pub fn topic_event(
        &self,
        by: UserId,
        place: impl Into<Place>,
        event: TopicEvent,
    ) -> Result<(), Impossible> {
        self.happens(|world| world.person_changes_topic(by, place.into(), &event))
    }

    /// A person writes. In a channel it is a channel post; in a channel's direct messages it lands in the person's own topic.
    pub fn post(
        &self,
        by: UserId,
        place: impl Into<Place>,
        post: impl Into<Post>,
    ) -> Result<MessageId, Impossible> {
        self.happens(|world| world.person_posts(by, place.into(), post.into(), None))
    }

    /// Several files as one album: messages with the same `media_group_id`.
    pub fn post_album(
        &self,
        by: UserId,
        place: impl Into<Place>,
        posts: Vec<Post>,
    ) -> Result<Vec<MessageId>, Impossible> {
        let place = place.into();
        self.happens(|world| {
            let album = world.next_album();
            posts
                .into_iter()
                .map(|post| world.person_posts(by, place, post, Some(album.clone())))
                .collect()
        })
    }

    /// A person edits an own message.
    pub fn edit(
        &self,
        by: UserId,
        chat: Chat,
        message: MessageId,
        text: &str,
    ) -> Result<(), Impossible> {
        self.happens(|world| world.person_edits(by, chat, message, text))
    }

    /// A person deletes a message. Bots are not told.
    pub fn delete(&self, chat: Chat, message: MessageId) -> Result<(), Impossible> {
        self.happens(|world| world.person_deletes(chat, message))
    }

    /// A person presses the button with this data under a bot's message. The id of the callback query is returned.
    pub fn press(
        &self,
        by: UserId,
        chat: Chat,
        message: MessageId,
        data: &str,
    ) -> Result<String, Impossible> {
        self.happens(|world| world.person_presses(by, chat, message, data))
    }

    /// Callback queries that were not answered yet are too old from now on.
    pub fn expire_callbacks(&self) {
        for callback in self.shared.world().callbacks.values_mut() {
            callback.over = true;
        }
    }

    /// A person's reactions to a message are these emoji now.
    pub fn react(
        &self,
        by: UserId,
        chat: Chat,
        message: MessageId,
        emoji: &[&str],
    ) -> Result<(), Impossible> {
        self.happens(|world| world.person_reacts(by, chat, message, emoji))
    }

    /// Somebody's standing in a chat changes: the bot itself hears `my_chat_member`, administrators that asked for it `chat_member`.
    pub fn change_member(
        &self,
        by: UserId,
        chat: Chat,
        who: UserId,
        standing: Standing,
    ) -> Result<(), Impossible> {
        self.happens(|world| world.set_standing(by, chat, who, standing))
    }

    /// The person of a private chat blocks the bot.
    pub fn block(&self, chat: Chat) -> Result<(), Impossible> {
        self.happens(|world| world.set_blocked(chat, true))
    }

    pub fn unblock(&self, chat: Chat) -> Result<(), Impossible> {
        self.happens(|world| world.set_blocked(chat, false))
    }

    /// The account of a person is closed. Bots are not told.
    pub fn deactivate(&self, person: UserId) -> Result<(), Impossible> {
        self.happens(|world| world.deactivate(person))
    }

    /// The group is deleted. Bots are not told.
    pub fn delete_chat(&self, chat: Chat) -> Result<(), Impossible> {
        self.happens(|world| world.delete_chat(chat))
    }

    /// A group becomes a supergroup; its number and its messages' numbers change.
    pub fn migrate(&self, by: UserId, chat: Chat) -> Result<Chat, Impossible> {
        self.happens(|world| world.migrate(by, chat))
    }

    /// The person presses "stop" under a draft that was sent with `can_stop`.
    pub fn stop_generation(&self, chat: Chat, draft: i64) -> Result<(), Impossible> {
        self.happens(|world| world.stop_generation(chat, draft))
    }

    /// Any update, as it is; `update_id` is set. It comes whatever kinds the bot asked for. Its number is returned.
    pub fn push_raw(&self, bot: &Bot, update: Value) -> Result<i64, Impossible> {
        self.with_bot(bot, |bot| bot.queue.push(&update, 0))
    }

    /// The number of the bot's next update, lower or higher than those before: what may happen after a week of silence.
    pub fn next_update_id(&self, bot: &Bot, id: i64) -> Result<(), Impossible> {
        self.with_bot(bot, |bot| bot.queue.set_next_id(id))
    }

    /// The token is revoked; the new one is returned.
    pub fn revoke(&self, bot: &Bot) -> Result<Bot, Impossible> {
        let token = self.shared.world().new_token(bot.id);
        self.with_bot(bot, |bot| bot.token.clone_from(&token))?;
        Ok(Bot {
            token,
            ..bot.clone()
        })
    }

    /// Another program polls with this token just now: a waiting poll ends with 409.
    pub fn foreign_poller(&self, bot: &Bot) -> Result<(), Impossible> {
        self.with_bot(bot, |bot| bot.queue.end_poll(Ending::OtherPoll))
    }
}

/// Troubles.
impl Server {
    pub fn fault(&self, fault: Fault) {
        self.shared.world().faults.add(fault);
    }

    /// The next poll (or the webhook) gets the last so many updates again, though they were confirmed.
    pub fn repeat_updates(&self, bot: &Bot, count: usize) -> Result<(), Impossible> {
        self.with_bot(bot, |bot| bot.queue.to_repeat = count)
    }

    /// The updates of the next so many polls come in reverse order.
    pub fn reorder_updates(&self, bot: &Bot, polls: usize) -> Result<(), Impossible> {
        self.with_bot(bot, |bot| bot.queue.to_reorder = polls)
    }

    pub fn clear_faults(&self) {
        self.shared.world().faults.clear();
    }

    /// Budgets from now on; what was sent before does not count.
    pub fn set_flood(&self, flood: Option<Flood>) {
        self.shared.world().gate.set(flood);
    }
}

/// Reading.
impl Server {
    /// Everything bots sent, in order, as it is now.
    pub fn sent(&self) -> Vec<Sent> {
        self.sent_since(0)
    }

    /// What bots sent after the first so many messages.
    pub fn sent_since(&self, index: usize) -> Vec<Sent> {
        self.shared.world().sent_since(index)
    }

    /// What bots sent to a place, in order; deleted messages are left out.
    pub fn sent_in(&self, place: impl Into<Place>) -> Vec<Sent> {
        let place = place.into();
        let thread = place.thread.filter(|thread| *thread != super::GENERAL);
        let here = |sent: &Sent| {
            let own = place.chat.bot.is_none_or(|bot| bot == sent.bot);
            own && sent.chat == place.chat.id && sent.thread == thread && !sent.deleted
        };
        self.sent().into_iter().filter(here).collect()
    }

    /// All messages of a place as Telegram would show them, of people, bots and the service; deleted ones are left out.
    pub fn messages_in(&self, place: impl Into<Place>) -> Vec<Value> {
        self.shared.world().shown_in(place.into())
    }

    /// A message as Telegram would show it.
    pub fn message(&self, chat: Chat, message: MessageId) -> Option<Value> {
        let world = self.shared.world();
        let room = world.rooms.get(&chat)?;
        Some(world.show_message(room, room.message(message)?))
    }

    /// Text or caption of a message, as it is now.
    pub fn text_of(&self, chat: Chat, message: MessageId) -> Option<String> {
        let world = self.shared.world();
        let message = world.rooms.get(&chat)?.message(message)?;
        Some(message.words().to_owned())
    }

    /// The bytes of a file, by its `file_id`.
    pub fn file(&self, file_id: &str) -> Option<Vec<u8>> {
        let world = self.shared.world();
        world.files.get(file_id).map(|file| file.bytes.clone())
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.world().log.requests.clone()
    }

    pub fn actions(&self) -> Vec<Action> {
        self.shared.world().log.actions.clone()
    }

    pub fn drafts(&self) -> Vec<Draft> {
        self.shared.world().log.drafts.clone()
    }

    pub fn callback_answers(&self) -> Vec<CallbackAnswer> {
        self.shared.world().log.callback_answers.clone()
    }

    /// What no correct client does. A test of a client ends with asserting that there is none.
    pub fn violations(&self) -> Vec<Violation> {
        self.shared.world().log.violations.clone()
    }

    /// Updates that the bot has not confirmed, oldest first.
    pub fn pending_updates(&self, bot: &Bot) -> Vec<Value> {
        let world = self.shared.world();
        let bot = world.bots.get(&bot.id);
        let pending = bot.into_iter().flat_map(|bot| bot.queue.pending());
        pending.map(|update| update.body.clone()).collect()
    }

    /// The commands a bot has set: scope as JSON, language, commands.
    pub fn commands(&self, bot: &Bot) -> Vec<(String, String, Value)> {
        let world = self.shared.world();
        let kept = world.bots.get(&bot.id);
        let kept = kept.into_iter().flat_map(|bot| &bot.commands);
        kept.map(|((scope, language), commands)| {
            (scope.clone(), language.clone(), commands.clone())
        })
        .collect()
    }

    /// Topics of a forum or private chat that are not deleted: thread, name, whether it is closed.
    pub fn topics(&self, chat: Chat) -> Vec<(ThreadId, String, bool)> {
        let world = self.shared.world();
        let topics = world.rooms.get(&chat).map(|room| &room.topics);
        let alive = topics
            .into_iter()
            .flatten()
            .filter(|(_, topic)| !topic.deleted);
        alive
            .map(|(thread, topic)| (*thread, topic.name.clone(), topic.closed))
            .collect()
    }

    /// What the schema says against an update, such as one for [`Server::push_raw`]. `None` if nothing, or if there is no schema.
    pub fn problem_of_update(&self, update: &Value) -> Option<String> {
        self.shared.schemas.as_ref()?.problem_of_update(update)
    }

    /// What the schema says against the answer to a method.
    pub fn problem_of_answer(&self, method: &str, result: &Value) -> Option<String> {
        let schemas = self.shared.schemas.as_ref()?;
        schemas.problem_of_answer(method, result)
    }

    /// Waits until `look` finds something; it is asked again whenever anything happened. It must not wait itself.
    pub async fn wait_for<T>(
        &self,
        limit: Duration,
        mut look: impl FnMut(&Server) -> Option<T>,
    ) -> Result<T, TimedOut> {
        let mut changes = self.shared.changes();
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            if let Some(found) = look(self) {
                return Ok(found);
            }
            let changed = tokio::time::timeout_at(deadline, changes.changed()).await;
            if !matches!(changed, Ok(Ok(()))) {
                return Err(TimedOut {
                    limit,
                    seen: self.last_requests(),
                });
            }
        }
    }

    /// Waits until bots have sent this many messages in all, and returns them.
    pub async fn wait_for_sent(
        &self,
        count: usize,
        limit: Duration,
    ) -> Result<Vec<Sent>, TimedOut> {
        self.wait_for(limit, |server| {
            let sent = server.sent();
            (sent.len() >= count).then_some(sent)
        })
        .await
    }

    fn last_requests(&self) -> String {
        let world = self.shared.world();
        let last = world.log.requests.iter().rev().take(5).rev();
        let lines: Vec<String> = last
            .map(|request| format!("{} {:?}", request.method, request.outcome))
            .collect();
        match lines.is_empty() {
            true => "no request".into(),
            false => lines.join(", "),
        }
    }

    /// One step of the world, after which everybody looks again.
    fn happens<T>(
        &self,
        step: impl FnOnce(&mut World) -> Result<T, Impossible>,
    ) -> Result<T, Impossible> {
        let mut world: MutexGuard<'_, World> = self.shared.world();
        let done = step(&mut world);
        drop(world);
        self.shared.changed();
        done
    }

    fn with_bot<T>(
        &self,
        bot: &Bot,
        step: impl FnOnce(&mut super::world::BotState) -> T,
    ) -> Result<T, Impossible> {
        self.happens(|world| match world.bots.get_mut(&bot.id) {
            Some(state) => Ok(step(state)),
            None => Err(Impossible::because(format!("there is no bot {}", bot.id))),
        })
    }
}
