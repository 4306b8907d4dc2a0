//! Telegram: groups, forum topics, private chats.
pub mod markup;
