//! What a bot says of itself: who it is, its commands, its descriptions.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::call::Call;
use super::super::errors::{Answer, ApiError};
use super::super::text;

const MOST_COMMANDS: usize = 100;

pub(super) fn get_me(call: &mut Call<'_>) -> Answer {
    Ok(call.world.show_me(call.bot))
}

/// Moving between servers: there is only this one.
#[expect(clippy::unnecessary_wraps, reason = "methods share one signature")]
pub(super) fn yes(_: &mut Call<'_>) -> Answer {
    Ok(json!(true))
}

#[derive(Debug, Deserialize)]
struct Command {
    command: String,
    description: String,
}

pub(super) fn set_commands(call: &mut Call<'_>) -> Answer {
    let commands: Vec<Command> = call.params.nested("commands")?.unwrap_or_default();
    if commands.len() > MOST_COMMANDS {
        return Err(ApiError::misuse("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in &commands {
        check_command(command)?;
    }
    let place = commands_place(call)?;
    let kept = call.params.get("commands").cloned().unwrap_or_default();
    let me = call.me_mut()?;
    match commands.is_empty() {
        true => me.commands.remove(&place),
        false => me.commands.insert(place, kept),
    };
    Ok(json!(true))
}

pub(super) fn get_commands(call: &mut Call<'_>) -> Answer {
    let place = commands_place(call)?;
    let kept = call.me()?.commands.get(&place).cloned();
    Ok(kept.unwrap_or_else(|| json!([])))
}

pub(super) fn delete_commands(call: &mut Call<'_>) -> Answer {
    let place = commands_place(call)?;
    call.me_mut()?.commands.remove(&place);
    Ok(json!(true))
}

fn check_command(command: &Command) -> Result<(), ApiError> {
    let name = &command.command;
    let good = |character: char| {
        character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_'
    };
    if !(1..=32).contains(&name.len()) || !name.chars().all(good) {
        return Err(ApiError::misuse("BOT_COMMAND_INVALID"));
    }
    match (1..=256).contains(&text::units(&command.description)) {
        true => Ok(()),
        false => Err(ApiError::misuse("BOT_COMMAND_DESCRIPTION_INVALID")),
    }
}

/// The scope in one form of writing, and the language.
fn commands_place(call: &Call<'_>) -> Result<(String, String), ApiError> {
    let scope = call
        .params
        .get("scope")
        .cloned()
        .unwrap_or_else(|| json!({"type": "default"}));
    let kind = scope["type"].as_str().unwrap_or_default();
    match kind {
        "default" | "all_private_chats" | "all_group_chats" | "all_chat_administrators" => {}
        "chat" | "chat_administrators" | "chat_member" => {
            call.chat_named(scope.get("chat_id"))?;
        }
        _ => {
            return Err(ApiError::misuse(
                "can't parse BotCommandScope: unsupported type specified",
            ));
        }
    }
    let language = call.params.text("language_code").unwrap_or_default();
    let two_letters = language.len() == 2 && language.chars().all(|c| c.is_ascii_lowercase());
    match language.is_empty() || two_letters {
        true => Ok((scope.to_string(), language.to_owned())),
        false => Err(ApiError::misuse("invalid language code specified")),
    }
}

pub(super) fn set_name(call: &mut Call<'_>) -> Answer {
    set_text(call, "name", 64)
}

pub(super) fn set_description(call: &mut Call<'_>) -> Answer {
    set_text(call, "description", 512)
}

pub(super) fn set_short_description(call: &mut Call<'_>) -> Answer {
    set_text(call, "short_description", 120)
}

pub(super) fn get_name(call: &mut Call<'_>) -> Answer {
    let name = call.me()?.name.clone();
    get_text(call, "name", &name)
}

pub(super) fn get_description(call: &mut Call<'_>) -> Answer {
    get_text(call, "description", "")
}

pub(super) fn get_short_description(call: &mut Call<'_>) -> Answer {
    get_text(call, "short_description", "")
}

fn text_place(call: &Call<'_>, field: &str) -> (String, String) {
    let language = call.params.text("language_code").unwrap_or_default();
    (field.to_owned(), language.to_owned())
}

fn set_text(call: &mut Call<'_>, field: &str, longest: usize) -> Answer {
    let said = call.params.text(field).unwrap_or_default().to_owned();
    if text::units(&said) > longest {
        return Err(ApiError::misuse(format!(
            "bot {} is too long",
            field.replace('_', " ")
        )));
    }
    let place = text_place(call, field);
    call.me_mut()?.texts.insert(place, said);
    Ok(json!(true))
}

fn get_text(call: &Call<'_>, field: &str, otherwise: &str) -> Answer {
    let said = call.me()?.texts.get(&text_place(call, field));
    let said = said.map_or(otherwise, String::as_str);
    Ok(Value::from_iter([(field, said)]))
}
