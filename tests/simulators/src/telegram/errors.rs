//! The answers that are refusals, in Telegram's words.
//!
//! **Invariant:** a refusal says whether a correct client could have met it. One that could not is a violation, and is kept as such.

use serde_json::{Value, json};

use super::ids::ChatId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub status: u16,
    pub description: String,
    pub parameters: Option<Parameters>,
    /// No correct client causes it.
    pub misuse: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameters {
    RetryAfter(u64),
    MigrateTo(ChatId),
}

pub(super) type Answer = Result<Value, ApiError>;

impl ApiError {
    fn new(status: u16, description: impl Into<String>) -> ApiError {
        ApiError {
            status,
            description: description.into(),
            parameters: None,
            misuse: false,
        }
    }

    /// 400 because of how the world is.
    pub fn bad(text: impl AsRef<str>) -> ApiError {
        ApiError::new(400, format!("Bad Request: {}", text.as_ref()))
    }

    /// 400 because of the request itself.
    pub fn misuse(text: impl AsRef<str>) -> ApiError {
        ApiError {
            misuse: true,
            ..ApiError::bad(text)
        }
    }

    pub fn forbidden(text: impl AsRef<str>) -> ApiError {
        ApiError::new(403, format!("Forbidden: {}", text.as_ref()))
    }

    pub fn unauthorized() -> ApiError {
        ApiError::new(401, "Unauthorized")
    }

    /// A path that is none of a bot.
    pub fn not_found() -> ApiError {
        ApiError::new(404, "Not Found")
    }

    pub fn no_method() -> ApiError {
        ApiError::new(404, "Not Found: method not found")
    }

    pub fn not_simulated(method: &str) -> ApiError {
        ApiError {
            misuse: true,
            ..ApiError::new(
                501,
                format!("Not Implemented: {method} is not simulated here"),
            )
        }
    }

    pub fn too_large() -> ApiError {
        ApiError::new(413, "Request Entity Too Large")
    }

    pub fn internal() -> ApiError {
        ApiError::new(500, "Internal Server Error: restart")
    }

    pub fn too_many(retry_after: u64) -> ApiError {
        ApiError {
            parameters: Some(Parameters::RetryAfter(retry_after)),
            ..ApiError::new(429, format!("Too Many Requests: retry after {retry_after}"))
        }
    }

    pub fn migrated(to: ChatId) -> ApiError {
        ApiError {
            parameters: Some(Parameters::MigrateTo(to)),
            ..ApiError::bad("group chat was upgraded to a supergroup chat")
        }
    }

    pub fn other_poller() -> ApiError {
        ApiError::new(
            409,
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        )
    }

    pub fn webhook_is_active() -> ApiError {
        ApiError::new(
            409,
            "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        )
    }

    pub fn webhook_was_set() -> ApiError {
        ApiError::new(409, "Conflict: terminated by setWebhook request")
    }

    pub fn chat_not_found() -> ApiError {
        ApiError::bad("chat not found")
    }

    pub fn thread_not_found() -> ApiError {
        ApiError::bad("message thread not found")
    }

    pub fn cannot_parse_entities(why: impl AsRef<str>) -> ApiError {
        ApiError::bad(format!("can't parse entities: {}", why.as_ref()))
    }

    pub fn body(&self) -> Value {
        let mut body =
            json!({"ok": false, "error_code": self.status, "description": self.description});
        match self.parameters {
            Some(Parameters::RetryAfter(seconds)) => {
                body["parameters"] = json!({"retry_after": seconds});
            }
            Some(Parameters::MigrateTo(chat)) => {
                body["parameters"] = json!({"migrate_to_chat_id": chat});
            }
            None => {}
        }
        body
    }
}
