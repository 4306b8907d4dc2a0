//! From an update to what the gateway is told of it.
//!
//! **Invariant:** when [`Intake::take`] returns `Ok`, the update can be confirmed: it is committed, or kept as it came, or says nothing to us. Taking it
//! twice is as good as once.

use std::sync::{Arc, Mutex, PoisonError};

use homing_ports::inbox::{AcceptError, Edited, Inbound, Inbox};
use serde_json::Value;
use teloxide_core::payloads::{AnswerCallbackQuery, EditMessageReplyMarkup};
use teloxide_core::types::{CallbackQueryId, ChatId, ChatMemberStatus, MessageId};
use tokio::time::Instant;

use crate::access::{self, Verdict};
use crate::albums::Albums;
use crate::asked::{Asked, Me, asked};
use crate::budget::Use;
use crate::compose::{self, Words};
use crate::inbound;
use crate::place::{Place, Target};
use crate::reading::{self, Message, News, Press, Standing};
use crate::telegram::Shared;

/// The gateway cannot store just now: the update must come again.
#[derive(Debug, thiserror::Error)]
#[error("not stored, and so not confirmed: {0}")]
pub(crate) struct NotStored(String);

/// Why an update was not taken.
enum Untaken {
    /// The gateway cannot store just now.
    ForNow(String),
    /// It never will be.
    Never(String),
}

impl From<AcceptError> for Untaken {
    fn from(error: AcceptError) -> Untaken {
        match error {
            AcceptError::Stopping | AcceptError::Store(_) => Untaken::ForNow(chain(&error)),
            AcceptError::TooLong { .. }
            | AcceptError::UnknownAccount(_)
            | AcceptError::UnknownWindow(_) => Untaken::Never(chain(&error)),
        }
    }
}

pub(crate) struct Intake {
    shared: Arc<Shared>,
    inbox: Arc<dyn Inbox>,
    me: Me,
    albums: Mutex<Albums>,
}

impl Intake {
    pub fn new(shared: Arc<Shared>, inbox: Arc<dyn Inbox>, me: Me) -> Intake {
        Intake {
            shared,
            inbox,
            me,
            albums: Mutex::default(),
        }
    }

    /// The account can send.
    pub fn ready(&self) {
        self.shared
            .is_up
            .store(true, std::sync::atomic::Ordering::Relaxed);
        self.inbox.ready(&self.shared.settings.account);
    }

    /// Albums of which any part in this batch is for the bot: the captioned part need not be the first.
    pub fn look_ahead(&self, updates: &[Value]) {
        for update in updates {
            if let News::Written(message) = reading::read(update)
                && let Some(album) = &message.album
                && matches!(self.asked(&message), Some(Asked::Yes { .. }))
            {
                self.albums().note_asked(album);
            }
        }
    }

    pub async fn take(&self, update: &Value) -> Result<(), NotStored> {
        let taken = match (update["update_id"].as_i64(), reading::read(update)) {
            (None, _) => Err(Untaken::Never("it has no number".into())),
            (_, News::Written(message)) => self.written(*message).await,
            (_, News::Edited(message)) => self.edited(*message).await,
            (_, News::Pressed(press)) => self.pressed(*press, update).await,
            (_, News::Reopened(place)) => self.reopened(&place).await,
            (_, News::Moved { from, to }) => self.moved(from, to).await,
            (_, News::Standing(standing)) => self.standing(*standing).await,
            (_, News::Stopped(place)) => self.stopped(place, update).await,
            (_, News::Unreadable(why)) => Err(Untaken::Never(why)),
            (number, News::Nothing(what)) => {
                tracing::debug!(?number, what, "nothing for us");
                Ok(())
            }
        };
        match taken {
            Ok(()) => Ok(()),
            Err(Untaken::ForNow(why)) => Err(NotStored(why)),
            Err(Untaken::Never(why)) => {
                self.keep(update, &why).await;
                Ok(())
            }
        }
    }

    async fn written(&self, message: Message) -> Result<(), Untaken> {
        if message.place.is_forum {
            self.shared.note_forum(message.place.chat);
        }
        let place = message.place;
        let Some(speaker) = speaker_of(&message) else {
            tracing::debug!(message = message.id, "a message of nobody, or of a bot");
            return Ok(());
        };
        let verdict = self.judge(&place, speaker);
        let Some(Asked::Yes { text, by_name }) = self.asked_at_all(&message) else {
            return Ok(());
        };
        match verdict {
            Verdict::Allowed { .. } => {
                let together = {
                    let mut albums = self.albums();
                    if let Some(album) = &message.album {
                        albums.note_asked(album);
                    }
                    albums.together(&message)
                };
                let account = &self.shared.settings.account;
                let inbound = inbound::of_message(account, &message, text, together);
                self.accept(inbound).await
            }
            Verdict::UnknownPerson | Verdict::UnknownChat if by_name => {
                self.refuse(verdict, &place, speaker, message.id);
                Ok(())
            }
            Verdict::UnknownPerson | Verdict::UnknownChat => Ok(()),
        }
    }

    /// Also as the rest of something that was for us.
    fn asked_at_all(&self, message: &Message) -> Option<Asked> {
        let asked = self.asked(message)?;
        if asked != Asked::No {
            return Some(asked);
        }
        let albums = self.albums();
        let in_album = message
            .album
            .as_ref()
            .is_some_and(|album| albums.is_asked(album));
        (in_album || albums.continues(message)).then(|| Asked::Yes {
            text: message.text.clone(),
            by_name: false,
        })
    }

    /// `None` for what nobody has said.
    fn asked(&self, message: &Message) -> Option<Asked> {
        let speaker = speaker_of(message)?;
        let must_mention = match self.judge(&message.place, speaker) {
            Verdict::Allowed { must_mention } => must_mention,
            Verdict::UnknownPerson | Verdict::UnknownChat => true,
        };
        Some(asked(message, &self.me, must_mention))
    }

    fn judge(&self, place: &Place, speaker: i64) -> Verdict {
        let moved = self.shared.moved();
        self.shared.access.judge(place, speaker, &moved)
    }

    async fn edited(&self, message: Message) -> Result<(), Untaken> {
        let text = match self.asked(&message) {
            None => return Ok(()),
            Some(Asked::Yes { text, .. }) => text,
            // What was for us once is read as it is, even if the address is edited away.
            Some(Asked::No) => message.text.clone(),
        };
        let account = &self.shared.settings.account;
        let edited = self
            .inbox
            .edited(account, &inbound::message_id(&message), &text)
            .await;
        match edited {
            Ok(Edited::Changed { .. }) => Ok(()),
            Ok(Edited::Unknown) if is_fresh(&message) => self.written(message).await,
            Ok(outcome @ (Edited::TooLate | Edited::Unknown)) => {
                tracing::debug!(message = message.id, ?outcome, "an edit without effect");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn pressed(&self, press: Press, update: &Value) -> Result<(), Untaken> {
        let Some(place) = press.place else {
            self.answer(&press, "This button is too old. Please write it instead.");
            return Ok(());
        };
        match self.judge(&place, press.speaker.id) {
            Verdict::Allowed { .. } => {}
            refused => {
                let text = access::refusal(refused, &place, press.speaker.id);
                self.answer(&press, &text.unwrap_or_default());
                return Ok(());
            }
        }
        let account = &self.shared.settings.account;
        if let Some(inbound) = inbound::of_press(account, &press, update) {
            self.accept(inbound).await?;
        }
        self.answer(&press, "");
        self.take_buttons_away(place.chat, press.message);
        Ok(())
    }

    async fn reopened(&self, place: &Place) -> Result<(), Untaken> {
        if place.is_forum {
            self.shared.note_forum(place.chat);
        }
        let account = &self.shared.settings.account;
        let origin = place.origin(account, None, None);
        Ok(self.inbox.reopened(&origin).await?)
    }

    async fn moved(&self, from: i64, to: i64) -> Result<(), Untaken> {
        let account = &self.shared.settings.account;
        let (old, new) = (from.to_string(), to.to_string());
        self.inbox.moved(account, &old, &new).await?;
        self.shared.note_moved(from, to).await;
        let is_configured = self
            .shared
            .access
            .chats
            .iter()
            .any(|rule| rule.chat == from);
        if is_configured && self.shared.is_news(format!("moved {from}")) {
            let text = format!(
                "the group {from} has become a supergroup and is {to} now. Its conversations go on there; write the new number into `chats` of this account when you can"
            );
            self.shared.tell(&text).await;
        }
        Ok(())
    }

    async fn standing(&self, standing: Standing) -> Result<(), Untaken> {
        let place = standing.place;
        let moved = self.shared.moved();
        let is_known = self.shared.access.knows_chat(&place, &moved);
        let Standing { title, by, .. } = &standing;
        let chat = place.chat;
        match (standing.was_inside, standing.is_inside) {
            (true, false) if is_known => {
                let happened = match (place.chat_type, standing.now) {
                    (homing_domain::key::ChatType::Dm, _) => "has blocked the bot".to_owned(),
                    (_, ChatMemberStatus::Banned) => {
                        format!("has lost the bot: {by} has banned it")
                    }
                    (_, _) => format!("has lost the bot: {by} has removed it"),
                };
                let text = format!(
                    "{title} ({chat}) {happened}. What is to be told there cannot be, until it is back"
                );
                self.shared.tell(&text).await;
                Ok(())
            }
            (false, true) if is_known => {
                self.inbox.ready(&self.shared.settings.account);
                self.reopened(&place).await
            }
            (false, true) if place.chat_type != homing_domain::key::ChatType::Dm => {
                if self.shared.is_news(format!("added {chat}")) {
                    let text = format!(
                        "{by} has added the bot to {title}, which is not set up here. To let it work there, add {chat} to `chats` of this account"
                    );
                    self.shared.tell(&text).await;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// As if the person had written it.
    async fn stopped(&self, place: Place, update: &Value) -> Result<(), Untaken> {
        match self.judge(&place, place.chat) {
            Verdict::Allowed { .. } => {
                let account = &self.shared.settings.account;
                let origin = place.origin(account, Some(place.chat), None);
                self.accept(Inbound::new(origin, inbound::update_id(update), "/stop"))
                    .await
            }
            Verdict::UnknownPerson | Verdict::UnknownChat => Ok(()),
        }
    }

    async fn accept(&self, inbound: Inbound) -> Result<(), Untaken> {
        let _new_or_repeat = self.inbox.accept(inbound).await?;
        Ok(())
    }

    /// Keeps what cannot be used, and says so once in a while.
    pub async fn keep(&self, update: &Value, why: &str) {
        let kept = self.shared.keep(update.clone(), why.to_owned()).await;
        let number = update["update_id"].as_i64();
        match kept {
            Ok(path) => {
                tracing::warn!(?number, why, "an update could not be used, and is kept");
                if self.shared.is_news("unreadable") {
                    let text = format!(
                        "an update could not be used ({why}). It is kept in {}; others go on. If Telegram has something new, a newer version of this program may know it",
                        path.display()
                    );
                    self.shared.tell(&text).await;
                }
            }
            Err(error) => {
                tracing::error!(?number, why, %error, %update, "an update could neither be used nor kept");
            }
        }
    }

    /// At most once an hour for a chat.
    fn refuse(&self, verdict: Verdict, place: &Place, speaker: i64, message: i64) {
        let Some(text) = access::refusal(verdict, place, speaker) else {
            return;
        };
        if !self.shared.is_news(format!("refused {}", place.chat)) {
            return;
        }
        let has_room = self
            .shared
            .budget()
            .take(place.chat, Use::Extra, Instant::now())
            .is_ok();
        let account = &self.shared.settings.account;
        let target = Target::of(&place.origin(account, None, None));
        let (true, Ok(target)) = (has_room, target) else {
            return;
        };
        let mut request = compose::message(&target, &Words::unformatted(text), false);
        compose::put_reply(&mut request, i32::try_from(message).ok());
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            if let Err(failure) = shared.api.call("sendMessage", &request).await {
                tracing::debug!(chat = target.chat, %failure, "a stranger was not answered");
            }
        });
    }

    /// Ends the waiting that the button shows. Nothing depends on it.
    fn answer(&self, press: &Press, text: &str) {
        let mut request = AnswerCallbackQuery::new(CallbackQueryId(press.query.clone()));
        if !text.is_empty() {
            request.text = Some(crate::utf16::shortened(text, 190));
            request.show_alert = Some(true);
        }
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            if let Err(failure) = shared.api.tell(&request).await {
                tracing::debug!(%failure, "a pressed button was not answered");
            }
        });
    }

    /// What was pressed is not pressed again. Nothing depends on it.
    fn take_buttons_away(&self, chat: i64, message: i64) {
        let Ok(message) = i32::try_from(message) else {
            return;
        };
        let request = EditMessageReplyMarkup::new(ChatId(chat), MessageId(message));
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            if let Err(failure) = shared.api.tell(&request).await {
                tracing::debug!(chat, %failure, "the buttons stay");
            }
        });
    }

    fn albums(&self) -> std::sync::MutexGuard<'_, Albums> {
        self.albums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who forgets to address the bot adds it by an edit. What is older was for somebody else.
const FRESH: i64 = 120;

fn is_fresh(message: &Message) -> bool {
    let edited = message.edited.unwrap_or(i64::MAX);
    edited.saturating_sub(message.date) <= FRESH
}

/// `None` if nobody speaks: a program, or the service. In a private chat it can only be its person.
fn speaker_of(message: &Message) -> Option<i64> {
    match &message.speaker {
        Some(speaker) => (!speaker.is_bot).then_some(speaker.id),
        None => (message.place.chat_type == homing_domain::key::ChatType::Dm)
            .then_some(message.place.chat),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}
