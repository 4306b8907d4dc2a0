//! One request of a bot at work: what it may reach.
//!
//! **Invariant:** whatever a method does begins with [`Call::chat`], so that no bot reaches a chat it is not in.

use serde_json::Value;

use super::errors::ApiError;
use super::ids::{Chat, ChatId, MessageId, ThreadId, UserId};
use super::params::Params;
use super::room::{Fate, Message, Room, RoomKind};
use super::wishes::{Kind, Standing};
use super::world::{BotState, World};

#[derive(Debug)]
pub(super) struct Call<'a> {
    pub world: &'a mut World,
    pub bot: UserId,
    pub method: &'a str,
    pub params: &'a Params,
    /// Where messages land, whatever was asked for.
    pub misplaced: Option<Option<ThreadId>>,
}

impl Call<'_> {
    pub fn me(&self) -> Result<&BotState, ApiError> {
        self.world
            .bots
            .get(&self.bot)
            .ok_or_else(ApiError::unauthorized)
    }

    pub fn me_mut(&mut self) -> Result<&mut BotState, ApiError> {
        self.world
            .bots
            .get_mut(&self.bot)
            .ok_or_else(ApiError::unauthorized)
    }

    /// The chat of `chat_id`, if the bot may know it.
    pub fn chat(&self) -> Result<Chat, ApiError> {
        self.chat_named(self.params.get("chat_id"))
    }

    pub fn chat_named(&self, value: Option<&Value>) -> Result<Chat, ApiError> {
        let Some(value) = value else {
            return Err(ApiError::misuse("chat_id is empty"));
        };
        let Some(id) = value.as_i64().map(ChatId) else {
            return Err(ApiError::chat_not_found());
        };
        let Some(key) = self.world.chat_seen_by(self.bot, id) else {
            return Err(match self.world.users.contains_key(&UserId(id.0)) {
                true => ApiError::forbidden("bot can't initiate conversation with a user"),
                false => ApiError::chat_not_found(),
            });
        };
        self.check_access(self.room(key)?)?;
        Ok(key)
    }

    fn check_access(&self, room: &Room) -> Result<(), ApiError> {
        if let RoomKind::Private(person) = room.kind {
            let user = self.world.users.get(&person);
            if user.is_some_and(|user| user.deactivated) {
                return Err(ApiError::forbidden("user is deactivated"));
            }
        }
        match room.fate {
            Fate::Alive => {}
            Fate::Blocked => return Err(ApiError::forbidden("bot was blocked by the user")),
            Fate::MigratedTo(to) => return Err(ApiError::migrated(to)),
            Fate::Deleted => return Err(ApiError::forbidden("the group chat was deleted")),
        }
        match room.members.get(&self.bot) {
            None => Err(ApiError::chat_not_found()),
            Some(Standing::Left) => Err(ApiError::forbidden(format!(
                "bot is not a member of the {} chat",
                room.noun()
            ))),
            Some(Standing::Kicked) => Err(ApiError::forbidden(format!(
                "bot was kicked from the {} chat",
                room.noun()
            ))),
            Some(_) => Ok(()),
        }
    }

    /// A chat the bot may write in.
    pub fn writable_chat(&self) -> Result<Chat, ApiError> {
        let key = self.chat()?;
        let room = self.room(key)?;
        match room.standing(self.bot) {
            Standing::Restricted => Err(ApiError::bad(
                "not enough rights to send text messages to the chat",
            )),
            standing if room.is(Kind::Channel) && !standing.is_administrator() => Err(
                ApiError::bad("need administrator rights in the channel chat"),
            ),
            _ => Ok(key),
        }
    }

    pub fn room(&self, key: Chat) -> Result<&Room, ApiError> {
        self.world
            .rooms
            .get(&key)
            .ok_or_else(ApiError::chat_not_found)
    }

    pub fn room_mut(&mut self, key: Chat) -> Result<&mut Room, ApiError> {
        self.world
            .rooms
            .get_mut(&key)
            .ok_or_else(ApiError::chat_not_found)
    }

    /// The message of `message_id`.
    pub fn message(&self, key: Chat, missing: &str) -> Result<&Message, ApiError> {
        let id = self.params.integer("message_id")?;
        let id =
            MessageId(id.ok_or_else(|| ApiError::misuse("message identifier is not specified"))?);
        self.room(key)?
            .message(id)
            .ok_or_else(|| ApiError::bad(missing))
    }

    pub fn may(&self, key: Chat, right: &str) -> Result<bool, ApiError> {
        Ok(self.room(key)?.standing(self.bot).has(right))
    }

    pub fn shown(&self, key: Chat, id: MessageId) -> Result<Value, ApiError> {
        let room = self.room(key)?;
        room.message(id)
            .map(|message| self.world.show_message(room, message))
            .ok_or_else(ApiError::internal)
    }
}
