//! Session keys: the durable name of a place where people talk (OWN-1…6).
//!
//! **Invariant:** a key and its text say the same: `text.parse::<SessionKey>()` of a key's text is that key, whatever the ids contain,
//! and what does not read as a key is refused with the slot that is wrong. Every key is made by [`SessionKey::build`] or by parsing.
//! **Absent on purpose:** routing. A key addresses; where an answer goes is read from a stored origin (OWN-5).
//!
//! Ids may hold anything: `:`, `%` and control characters are percent-encoded. Profile and platform are names and not ids: they become
//! parts of file paths and settings, so they are letters, digits, `.`, `_` and `-`, and do not begin with a dot.

use crate::origin::Origin;
use std::fmt;
use std::str::FromStr;

/// What sort of place a chat is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ChatType {
    Dm,
    Group,
    Channel,
    /// A chat that is itself a thread.
    Thread,
}

impl ChatType {
    pub const ALL: [ChatType; 4] = [
        ChatType::Dm,
        ChatType::Group,
        ChatType::Channel,
        ChatType::Thread,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            ChatType::Dm => "dm",
            ChatType::Group => "group",
            ChatType::Channel => "channel",
            ChatType::Thread => "thread",
        }
    }
    pub fn parse(text: &str) -> Option<ChatType> {
        ChatType::ALL
            .into_iter()
            .find(|chat_type| chat_type.name() == text)
    }
}

impl fmt::Display for ChatType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who shares a conversation (OWN-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(default)]
pub struct KeySettings {
    /// In a group without threads every person has a conversation of their own.
    pub per_user_in_groups: bool,
    /// So in a thread.
    pub per_user_in_threads: bool,
}

impl Default for KeySettings {
    fn default() -> Self {
        KeySettings {
            per_user_in_groups: true,
            per_user_in_threads: false,
        }
    }
}

/// The name of a conversation. An optional slot that is empty is `None`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    pub profile: String,
    pub platform: String,
    /// Which configured bot or workspace; `None` is the default one (OWN-6).
    pub account: Option<String>,
    pub chat_type: ChatType,
    pub chat: String,
    pub thread: Option<String>,
    pub user: Option<String>,
}

impl SessionKey {
    /// The conversation an origin belongs to: the one place where this is decided (OWN-4).
    pub fn build(origin: &Origin, settings: KeySettings) -> SessionKey {
        let thread = filled(&origin.thread);
        let per_user = match (origin.chat_type, &thread) {
            // In a direct message and a channel there is one counterpart: naming it again would make two names of one place.
            (ChatType::Dm | ChatType::Channel, _) => false,
            (ChatType::Group, None) => settings.per_user_in_groups,
            (ChatType::Group, Some(_)) | (ChatType::Thread, _) => settings.per_user_in_threads,
        };
        SessionKey {
            profile: origin.profile.clone(),
            platform: origin.platform.clone(),
            account: filled(&origin.account),
            chat_type: origin.chat_type,
            chat: origin.chat.clone(),
            thread,
            user: filled(&origin.user).filter(|_| per_user),
        }
    }
}

fn filled(slot: &Option<String>) -> Option<String> {
    slot.clone().filter(|text| !text.is_empty())
}

/// Whether a profile or platform may be called so.
pub fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !text.is_empty()
        && text.len() <= NAME_LIMIT
        && !text.starts_with('.')
        && text.bytes().all(allowed)
}

/// Bytes that a profile's or platform's name may have; a file name with room for a suffix.
pub const NAME_LIMIT: usize = 64;

/// A part of a key, as errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    Prefix,
    Profile,
    Platform,
    Account,
    ChatType,
    Chat,
    Thread,
    User,
    /// What comes after the last slot.
    Extra,
}

impl Slot {
    pub const fn name(self) -> &'static str {
        match self {
            Slot::Prefix => "prefix",
            Slot::Profile => "profile",
            Slot::Platform => "platform",
            Slot::Account => "account",
            Slot::ChatType => "chat_type",
            Slot::Chat => "chat",
            Slot::Thread => "thread",
            Slot::User => "user",
            Slot::Extra => "extra",
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is not a session key (OWN-3).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a session key, {slot}: {problem}")]
pub struct KeyError {
    pub slot: Slot,
    pub problem: Problem,
}

/// What is wrong with a slot, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("a key begins with `agent:`, as in `agent:main:telegram:group:-100:42`")]
    NotAgent,
    #[error(
        "the slot is missing; a key is `agent:<profile>:<platform>[@<account>]:<chat_type>:<chat>[:<thread>[:<user>]]`"
    )]
    Missing,
    #[error("the slot is empty; fill it, or leave it out if it is the last of the optional ones")]
    Empty,
    #[error(
        "{0} is not a name; it takes 1 to {NAME_LIMIT} of A-Z a-z 0-9 . _ - and does not begin with a dot"
    )]
    NotAName(Shown),
    #[error("{0} is not a chat type; it is one of dm, group, channel, thread")]
    UnknownChatType(Shown),
    #[error("it contains a control character; write it percent-encoded, as in `%0A`")]
    ControlCharacter,
    #[error("a `%` is not followed by two hexadecimal digits; a `%` itself is written `%25`")]
    BadEscape,
    #[error("its percent-encoded bytes are not UTF-8")]
    NotUtf8,
    #[error("a key has at most 7 slots; a `:` inside an id is written `%3A`")]
    TooMany,
}

/// The offending text, made safe to print: quoted, escaped, cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    const CHARACTERS: usize = 40;

    fn new(text: &str) -> Shown {
        Shown(text.chars().take(Shown::CHARACTERS).collect())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.escape_debug())
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "agent:{}:{}",
            Encoded(&self.profile),
            Encoded(&self.platform)
        )?;
        if let Some(account) = &self.account {
            write!(f, "@{}", Encoded(account))?;
        }
        write!(f, ":{}:{}", self.chat_type, Encoded(&self.chat))?;
        match (self.thread.as_deref(), self.user.as_deref()) {
            (None, None) => Ok(()),
            (Some(thread), None) => write!(f, ":{}", Encoded(thread)),
            (thread, Some(user)) => write!(
                f,
                ":{}:{}",
                Encoded(thread.unwrap_or_default()),
                Encoded(user)
            ),
        }
    }
}

/// A slot as it is written: what would be taken for structure is percent-encoded.
struct Encoded<'a>(&'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            if !matches!(character, ':' | '%') && !character.is_control() {
                fmt::Write::write_char(f, character)?;
                continue;
            }
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for SessionKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<SessionKey, KeyError> {
        let mut slots = text.split(':');
        let prefix = slots.next().unwrap_or_default();
        if prefix != "agent" {
            return Err(Slot::Prefix.refuse(Problem::NotAgent));
        }
        let profile = name(Slot::Profile, slots.next())?;
        let (platform, account) = platform_and_account(slots.next())?;
        let chat_type = chat_type(slots.next())?;
        let chat = required(Slot::Chat, slots.next())?;
        let (thread, user) = thread_and_user(slots.next(), slots.next())?;
        if slots.next().is_some() {
            return Err(Slot::Extra.refuse(Problem::TooMany));
        }
        Ok(SessionKey {
            profile,
            platform,
            account,
            chat_type,
            chat,
            thread,
            user,
        })
    }
}

impl Slot {
    fn refuse(self, problem: Problem) -> KeyError {
        KeyError {
            slot: self,
            problem,
        }
    }
}

fn platform_and_account(text: Option<&str>) -> Result<(String, Option<String>), KeyError> {
    match text.and_then(|text| text.split_once('@')) {
        None => Ok((name(Slot::Platform, text)?, None)),
        Some((platform, account)) => Ok((
            name(Slot::Platform, Some(platform))?,
            Some(required(Slot::Account, Some(account))?),
        )),
    }
}

/// The thread may be empty if a user follows; the last slot of a key never is, so that a key has one text.
fn thread_and_user(
    thread: Option<&str>,
    user: Option<&str>,
) -> Result<(Option<String>, Option<String>), KeyError> {
    let thread = match (thread, user) {
        (None, _) => None,
        (Some(""), Some(_)) => None,
        (Some(_), _) => Some(required(Slot::Thread, thread)?),
    };
    let user = user
        .map(|user| required(Slot::User, Some(user)))
        .transpose()?;
    Ok((thread, user))
}

fn chat_type(text: Option<&str>) -> Result<ChatType, KeyError> {
    let text = required(Slot::ChatType, text)?;
    ChatType::parse(&text)
        .ok_or_else(|| Slot::ChatType.refuse(Problem::UnknownChatType(Shown::new(&text))))
}

fn name(slot: Slot, text: Option<&str>) -> Result<String, KeyError> {
    let text = text.ok_or_else(|| slot.refuse(Problem::Missing))?;
    match text {
        "" => Err(slot.refuse(Problem::Empty)),
        _ if is_name(text) => Ok(text.into()),
        _ => Err(slot.refuse(Problem::NotAName(Shown::new(text)))),
    }
}

fn required(slot: Slot, text: Option<&str>) -> Result<String, KeyError> {
    match text {
        None => Err(slot.refuse(Problem::Missing)),
        Some("") => Err(slot.refuse(Problem::Empty)),
        Some(text) => decode(text).map_err(|problem| slot.refuse(problem)),
    }
}

fn decode(text: &str) -> Result<String, Problem> {
    if text.chars().any(char::is_control) {
        return Err(Problem::ControlCharacter);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => match (
                rest.next().and_then(hexadecimal),
                rest.next().and_then(hexadecimal),
            ) {
                (Some(high), Some(low)) => high << 4 | low,
                (None, _) | (_, None) => return Err(Problem::BadEscape),
            },
            _ => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| Problem::NotUtf8)
}

fn hexadecimal(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|digit| digit as u8)
}

impl serde::Serialize for SessionKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for SessionKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
