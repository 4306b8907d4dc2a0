//! What people do and see on Telegram, by the simulator; and the adapter's life.

use std::sync::Arc;

use async_trait::async_trait;
use homing_ports::SystemClock;
use homing_ports::inbox::Inbox;
use homing_ports::platform::Platform;
use homing_simulators::telegram::{
    self as simulator, Fault, GENERAL, MessageId, Outcome, Post, Server, Standing, ThreadId,
    TopicEvent,
};
use homing_telegram::Telegram;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{SECRET, TelegramWorld};
use crate::kept::limit;
use crate::world::{Effect, Place, Seen, SeenFile, Spot, Strikes, Trouble, Upload, World};

fn here(chat: simulator::ChatId, thread: Option<ThreadId>) -> Place {
    let thread = thread.filter(|thread| *thread != GENERAL);
    Place {
        chat: chat.to_string(),
        thread: thread.map(|thread| thread.to_string()),
    }
}

fn number(text: &str) -> MessageId {
    MessageId(text.parse().unwrap())
}

fn effect(effect: Effect) -> simulator::Effect {
    match effect {
        Effect::Taken => simulator::Effect::Taken,
        Effect::Nothing => simulator::Effect::None,
    }
}

/// What Telegram finds in texts by itself.
const FOUND: [&str; 7] = [
    "url",
    "mention",
    "bot_command",
    "hashtag",
    "cashtag",
    "email",
    "phone_number",
];

#[async_trait]
impl World for TelegramWorld {
    async fn open(&mut self, inbox: Arc<dyn Inbox>) {
        let adapter = Telegram::new(self.settings(), Arc::new(SystemClock)).unwrap();
        self.adapter = Some(Arc::clone(&adapter));
        let shutdown = CancellationToken::new();
        let until = shutdown.clone();
        let serving = tokio::spawn(async move { adapter.serve(inbox, until).await });
        self.serving = Some((serving, shutdown));
    }

    async fn close(&mut self) {
        if let Some((serving, shutdown)) = self.serving.take() {
            shutdown.cancel();
            serving.await.unwrap().unwrap();
        }
    }

    async fn kill(&mut self) {
        if let Some((serving, _)) = self.serving.take() {
            serving.abort();
            assert!(serving.await.is_err());
        }
    }

    fn platform(&self) -> Arc<dyn Platform> {
        self.adapter.as_ref().unwrap().platform()
    }

    fn place(&self, spot: Spot) -> Place {
        let at = self.at(spot);
        let thread = match spot {
            Spot::Direct => self
                .server
                .topics(self.direct)
                .first()
                .map(|(thread, ..)| *thread),
            _ => at.thread,
        };
        here(at.chat.id, thread)
    }

    fn speaker(&self, spot: Spot) -> String {
        match spot {
            Spot::Channel => self.channel.id.to_string(),
            _ => self.alice.to_string(),
        }
    }

    fn write(&self, spot: Spot, text: &str) -> Option<String> {
        Some(self.post(spot, Post::text(text)).to_string())
    }

    fn unconfirmed(&self) -> usize {
        self.server.pending_updates(&self.bot).len()
    }

    fn seen(&self) -> Vec<Seen> {
        let is_set = |entity: &Value| !FOUND.iter().any(|found| entity["type"] == *found);
        let says = |button: &Value| button["callback_data"].as_str().unwrap().to_owned();
        let sent = self.server.sent().into_iter();
        sent.map(|sent| Seen {
            place: here(sent.chat, sent.thread),
            message: sent.message.to_string(),
            formatted: sent.entities.iter().any(is_set),
            buttons: sent
                .buttons
                .iter()
                .map(|row| row.iter().map(says).collect())
                .collect(),
            file: sent.media.map(|media| SeenFile {
                bytes: self.server.file(&media.file_id).unwrap(),
                name: media.file_name,
            }),
            edits: sent.history.len(),
            marked: sent.text.contains("may be a repeat"),
            deleted: sent.deleted,
            text: sent.text,
        })
        .collect()
    }

    async fn wait_until(&self, met: &(dyn for<'w> Fn(&'w dyn World) -> bool + Sync)) -> bool {
        let look = |_: &Server| met(self).then_some(());
        self.server.wait_for(limit(), look).await.is_ok()
    }

    fn misbehaviour(&self) -> Vec<String> {
        let violations = self.server.violations().into_iter();
        violations
            .map(|violation| format!("{violation:?}"))
            .collect()
    }

    async fn go_away(&self) {
        self.relay.go_away().await;
    }

    fn come_back(&self) {
        self.relay.come_back();
    }

    fn trouble(&self, trouble: Trouble) {
        use simulator::Trouble as Theirs;
        let theirs = match trouble {
            Trouble::RateLimited(span) => Theirs::TooManyRequests {
                retry_after: span.as_secs(),
            },
            Trouble::ServerError(taken) => Theirs::InternalError(effect(taken)),
            Trouble::BadGateway(taken) => Theirs::BadGateway(effect(taken)),
            Trouble::Reset(taken) => Theirs::Reset(effect(taken)),
            Trouble::Silence(taken) => Theirs::Silence(effect(taken)),
            Trouble::HalfAnswer => Theirs::MalformedJson,
            Trouble::Slow(span) => Theirs::slow(span),
            Trouble::Misplaced(spot) => Theirs::Misplaced(self.at(spot).thread),
            Trouble::FormattingRefused => Theirs::EntitiesRefused,
        };
        self.server.fault(Fault::new(theirs).method("sendMessage"));
    }

    fn reply(&self, spot: Spot, to: &str, text: &str) -> String {
        self.post(spot, Post::text(text).reply_to(number(to)))
            .to_string()
    }

    fn edit(&self, spot: Spot, message: &str, text: &str) {
        let chat = self.at(spot).chat;
        self.server
            .edit(self.alice, chat, number(message), text)
            .unwrap();
    }

    fn press(&self, spot: Spot, message: &str, says: &str) {
        let chat = self.at(spot).chat;
        self.server
            .press(self.alice, chat, number(message), says)
            .unwrap();
    }

    fn album(&self, spot: Spot, captions: &[&str]) {
        let post = |(number, caption): (usize, &&str)| {
            let name = format!("{number}.txt");
            Post::document(&name, "text/plain", name.clone()).caption(*caption)
        };
        let posts = captions.iter().enumerate().map(post).collect();
        self.server
            .post_album(self.alice, self.at(spot), posts)
            .unwrap();
    }

    /// As Telegram's own clients do: at 4,096 units.
    fn paste(&self, spot: Spot, text: &str) {
        let units: Vec<u16> = text.encode_utf16().collect();
        for part in units.chunks(4_096) {
            self.post(spot, Post::text(String::from_utf16(part).unwrap()));
        }
    }

    fn upload(&self, spot: Spot, file: Upload<'_>) {
        let post = Post::document(file.name, "application/octet-stream", file.bytes);
        let post = match file.claimed {
            Some(size) => post.claiming_size(size),
            None => post,
        };
        self.post(spot, post.caption(file.caption));
    }

    fn close_place(&self, spot: Spot) {
        self.topic_event(spot, TopicEvent::Closed);
    }

    fn reopen_place(&self, spot: Spot) {
        self.topic_event(spot, TopicEvent::Reopened);
    }

    fn delete_place(&self, spot: Spot) {
        self.topic_event(spot, TopicEvent::Deleted);
    }

    fn move_chat(&mut self, spot: Spot) -> String {
        assert_eq!(spot, Spot::Group, "only a group moves");
        let new = self.server.migrate(self.alice, self.group).unwrap();
        self.group = new;
        new.id.to_string()
    }

    fn remove_bot(&self, spot: Spot) {
        let chat = self.at(spot).chat;
        let done = match spot {
            Spot::Private | Spot::PrivateTopic => self.server.block(chat),
            _ => self
                .server
                .change_member(self.alice, chat, self.bot.id, Standing::Kicked),
        };
        done.unwrap();
    }

    fn repeat_updates(&self, count: usize) {
        self.server.repeat_updates(&self.bot, count).unwrap();
    }

    fn reorder_updates(&self) {
        self.server.reorder_updates(&self.bot, 1).unwrap();
    }

    fn unreadable_update(&self) {
        for update in [
            json!({"hologram": {"note": "from the future"}}),
            json!({"message": {"message_id": "seven", "note": "from the future"}}),
        ] {
            self.server.push_raw(&self.bot, update).unwrap();
        }
    }

    fn kept_unreadable(&self) -> String {
        let path = self.state.path().join("telegram/unreadable.jsonl");
        std::fs::read_to_string(path).unwrap_or_default()
    }

    fn poll_troubles(&self) -> Vec<(&'static str, Strikes)> {
        use Strikes::{Next, Waiting};
        vec![
            ("429, retry after 1", Next),
            ("500", Next),
            ("502 as HTML", Next),
            ("reset, not carried out", Next),
            ("reset, carried out", Next),
            ("timeout, not carried out", Next),
            ("timeout, carried out", Next),
            ("half an answer", Next),
            ("slow answer", Next),
            ("409, another program polls", Waiting),
            ("409, a webhook is set and taken away", Waiting),
        ]
    }

    async fn poll_trouble(&self, name: &str) {
        use simulator::Effect::{None, Taken};
        use simulator::Trouble as Theirs;
        let theirs = match name {
            "429, retry after 1" => Theirs::TooManyRequests { retry_after: 1 },
            "500" => Theirs::InternalError(None),
            "502 as HTML" => Theirs::BadGateway(Taken),
            "reset, not carried out" => Theirs::Reset(None),
            "reset, carried out" => Theirs::Reset(Taken),
            "timeout, not carried out" => Theirs::Silence(None),
            "timeout, carried out" => Theirs::Silence(Taken),
            "half an answer" => Theirs::MalformedJson,
            "slow answer" => Theirs::Slow(500),
            "409, another program polls" => {
                self.poll_is_waiting().await;
                return self.server.foreign_poller(&self.bot).unwrap();
            }
            "409, a webhook is set and taken away" => return self.webhook_of_another().await,
            other => panic!("no such trouble: {other}"),
        };
        self.server.fault(Fault::new(theirs).method("getUpdates"));
    }

    fn poll_refusals(&self) -> Vec<String> {
        let requests = self.server.requests().into_iter();
        let polls = requests.filter(|request| request.method == "getUpdates");
        let refusal = |request: simulator::Request| match request.outcome {
            Outcome::Refused { description, .. } => Some(description),
            _ => Option::None,
        };
        polls.filter_map(refusal).collect()
    }

    fn typing(&self) -> Vec<Place> {
        let actions = self.server.actions().into_iter();
        actions
            .map(|action| here(action.chat, action.thread))
            .collect()
    }

    fn secrets(&self) -> Vec<String> {
        let (_, half) = self.bot.token.split_once(':').unwrap();
        vec![self.bot.token.clone(), half.to_owned(), SECRET.to_owned()]
    }

    fn debug_text(&self) -> String {
        format!("{:?} {:?}", self.adapter, self.settings())
    }
}
