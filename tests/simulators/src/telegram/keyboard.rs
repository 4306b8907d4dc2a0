//! What stands under a message: buttons and keyboards.

use serde_json::Value;

use super::errors::ApiError;

/// In bytes, of what a button carries.
const LONGEST_DATA: usize = 64;
/// Each of them is what a button does.
const ACTIONS: &[&str] = &[
    "url",
    "callback_data",
    "web_app",
    "login_url",
    "switch_inline_query",
    "switch_inline_query_current_chat",
    "switch_inline_query_chosen_chat",
    "copy_text",
    "callback_game",
    "pay",
    "disabled",
];

/// The markup as it is kept, or Telegram's complaint. An empty inline keyboard is none.
pub(super) fn checked(markup: Option<&Value>) -> Result<Option<Value>, ApiError> {
    let Some(markup) = markup else {
        return Ok(None);
    };
    if !markup.is_object() {
        return Err(ApiError::misuse("object expected as reply markup"));
    }
    let Some(rows) = markup.get("inline_keyboard") else {
        return Ok(Some(markup.clone()));
    };
    let Some(rows) = rows.as_array() else {
        return Err(ApiError::misuse(
            "field \"inline_keyboard\" must be of type Array",
        ));
    };
    let buttons: Vec<&Value> = rows.iter().filter_map(Value::as_array).flatten().collect();
    for button in &buttons {
        check_button(button)?;
    }
    Ok((!buttons.is_empty()).then(|| markup.clone()))
}

fn check_button(button: &Value) -> Result<(), ApiError> {
    let refused =
        |why: &str| ApiError::misuse(format!("can't parse inline keyboard button: {why}"));
    if button["text"].as_str().is_none_or(str::is_empty) {
        return Err(refused("Field \"text\" must be of type String"));
    }
    let actions = ACTIONS
        .iter()
        .filter(|action| button.get(**action).is_some())
        .count();
    if actions == 0 {
        return Err(refused("Text buttons are unallowed in the inline keyboard"));
    }
    if actions > 1 {
        return Err(refused("Exactly one action must be specified"));
    }
    match button.get("callback_data").and_then(Value::as_str) {
        Some(data) if data.is_empty() || data.len() > LONGEST_DATA => {
            Err(ApiError::misuse("BUTTON_DATA_INVALID"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_data(data: &str) -> Result<Option<Value>, ApiError> {
        checked(Some(
            &json!({"inline_keyboard": [[{"text": "a", "callback_data": data}]]}),
        ))
    }

    #[test]
    fn data_is_measured_in_bytes() {
        assert!(with_data(&"ü".repeat(32)).is_ok());
        assert!(with_data(&"ü".repeat(33)).is_err());
        assert!(with_data("").is_err());
    }

    #[test]
    fn a_button_does_exactly_one_thing() {
        for button in [
            json!({"text": "a"}),
            json!({"text": "a", "url": "http://x/", "callback_data": "b"}),
        ] {
            let markup = json!({"inline_keyboard": [[button]]});
            assert!(checked(Some(&markup)).is_err());
        }
    }
}
