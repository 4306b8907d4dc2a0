//! Telegram: groups, forum topics, private chats.
