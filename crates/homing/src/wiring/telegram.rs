//! The Telegram bot: from settings to an adapter.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use homing_config::TelegramWebhook;
use homing_domain::origin::AccountName;
use homing_gateway::commands::COMMANDS;
use homing_ports::Clock;
use homing_telegram::{
    Budgets, ChatRule, CommandName, Mode, Pace, Secret, Telegram, TelegramSettings, Token,
};

use super::PROFILE;
use crate::secret;

/// The bot, not connected yet. `folder` is the data folder: the adapter has one of its own in it.
pub fn telegram(
    config: &homing_config::Telegram,
    folder: &Path,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<Arc<Telegram>> {
    let token = secret::read(&config.token, "telegram.token")?;
    let settings = TelegramSettings {
        account: AccountName {
            profile: PROFILE.into(),
            platform: "telegram".into(),
            account: None,
        },
        token: Token::new(token).context("`telegram.token`")?,
        api_url: config
            .api_url
            .parse()
            .with_context(|| format!("`telegram.api_url`: {}", config.api_url))?,
        mode: config.webhook.as_ref().map_or(Ok(Mode::Polling), webhook)?,
        people: config.people.clone(),
        chats: config
            .chats
            .iter()
            .map(|one| ChatRule {
                chat: one.chat,
                topic: one.topic,
                require_mention: one.require_mention,
            })
            .collect(),
        require_mention: config.require_mention,
        commands: COMMANDS
            .iter()
            .map(|command| CommandName {
                name: command.name.to_owned(),
                description: command.summary.to_owned(),
            })
            .collect(),
        budgets: Budgets::default(),
        state: folder.join("telegram"),
        previews: config.previews,
        pace: Pace::default(),
    };
    Telegram::new(settings, clock).context("`[telegram]`")
}

fn webhook(webhook: &TelegramWebhook) -> anyhow::Result<Mode> {
    Ok(Mode::Webhook {
        public_url: webhook
            .url
            .parse()
            .with_context(|| format!("`telegram.webhook.url`: {}", webhook.url))?,
        listen: webhook.listen,
        secret: Secret(secret::read(&webhook.secret, "telegram.webhook.secret")?),
    })
}
