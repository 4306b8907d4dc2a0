//! The methods of the Bot API, by name.
//!
//! **Invariant:** every method of the schema is listed: it is simulated, or refused in so many words. Nothing is silently taken as done.

mod chats;
mod copying;
mod editing;
mod media;
mod profile;
mod sending;
mod topics;
mod updates;

use super::call::Call;
use super::errors::{Answer, ApiError};

pub(super) use updates::wanted_poll;

/// What a method does.
type Run = fn(&mut Call<'_>) -> Answer;

/// A method under the name that the documentation writes.
#[derive(Clone, Copy)]
pub(super) struct Method {
    pub name: &'static str,
    run: Option<Run>,
}

/// Of the schema, but not simulated.
const REFUSED: &[&str] = &[
    "answerGuestQuery",
    "answerInlineQuery",
    "deleteAllMessageReactions",
    "deleteEphemeralMessage",
    "deleteMessageReaction",
    "editEphemeralMessageReplyMarkup",
    "editEphemeralMessageText",
    "editMessageMedia",
    "getForumTopicIconStickers",
    "getUserProfilePhotos",
    "readBusinessMessage",
    "sendContact",
    "sendDice",
    "sendLocation",
    "sendPoll",
    "sendRichMessageDraft",
    "sendSticker",
    "sendVideoNote",
    "setChatMenuButton",
    "getChatMenuButton",
    "stopPoll",
];

const SIMULATED: &[(&str, Run)] = &[
    ("answerCallbackQuery", chats::answer_callback_query),
    ("close", profile::yes),
    ("closeForumTopic", topics::close),
    ("closeGeneralForumTopic", topics::close_general),
    ("copyMessage", copying::copy_message),
    ("copyMessages", copying::copy_messages),
    ("createForumTopic", topics::create),
    ("deleteForumTopic", topics::delete),
    ("deleteMessage", editing::delete_message),
    ("deleteMessages", editing::delete_messages),
    ("deleteMyCommands", profile::delete_commands),
    ("deleteWebhook", updates::delete_webhook),
    ("editForumTopic", topics::edit),
    ("editGeneralForumTopic", topics::edit_general),
    ("editMessageCaption", editing::edit_caption),
    ("editMessageReplyMarkup", editing::edit_markup),
    ("editMessageText", editing::edit_text),
    ("forwardMessage", copying::forward_message),
    ("forwardMessages", copying::forward_messages),
    ("getChat", chats::get_chat),
    ("getChatAdministrators", chats::get_administrators),
    ("getChatMember", chats::get_member),
    ("getChatMemberCount", chats::get_member_count),
    ("getFile", media::get_file),
    ("getMe", profile::get_me),
    ("getMyCommands", profile::get_commands),
    ("getMyDescription", profile::get_description),
    ("getMyName", profile::get_name),
    ("getMyShortDescription", profile::get_short_description),
    // A poll waits; the server itself sees to it.
    ("getUpdates", updates::get_updates_at_once),
    ("getWebhookInfo", updates::get_webhook_info),
    ("hideGeneralForumTopic", topics::hide_general),
    ("leaveChat", chats::leave),
    ("logOut", profile::yes),
    ("pinChatMessage", chats::pin),
    ("reopenForumTopic", topics::reopen),
    ("reopenGeneralForumTopic", topics::reopen_general),
    ("sendAnimation", media::send_animation),
    ("sendAudio", media::send_audio),
    ("sendChatAction", sending::send_chat_action),
    ("sendDocument", media::send_document),
    ("sendMediaGroup", media::send_media_group),
    ("sendMessage", sending::send_message),
    ("sendMessageDraft", sending::send_draft),
    ("sendPhoto", media::send_photo),
    ("sendRichMessage", sending::send_rich_message),
    ("sendVideo", media::send_video),
    ("sendVoice", media::send_voice),
    ("setMessageReaction", chats::set_reaction),
    ("setMyCommands", profile::set_commands),
    ("setMyDescription", profile::set_description),
    ("setMyName", profile::set_name),
    ("setMyShortDescription", profile::set_short_description),
    ("setWebhook", updates::set_webhook),
    ("unhideGeneralForumTopic", topics::unhide_general),
    ("unpinAllChatMessages", chats::unpin_all),
    ("unpinAllForumTopicMessages", topics::unpin_all),
    (
        "unpinAllGeneralForumTopicMessages",
        topics::unpin_all_general,
    ),
    ("unpinChatMessage", chats::unpin),
];

/// The method of this name, in whatever case.
pub(super) fn find(name: &str) -> Option<Method> {
    let same = |known: &str| known.eq_ignore_ascii_case(name);
    let simulated = SIMULATED.iter().find(|(known, _)| same(known));
    let refused = REFUSED.iter().find(|known| same(known));
    match (simulated, refused) {
        (Some((name, run)), _) => Some(Method {
            name,
            run: Some(*run),
        }),
        (None, Some(name)) => Some(Method { name, run: None }),
        (None, None) => None,
    }
}

impl Method {
    /// Carries it out.
    pub fn run(&self, call: &mut Call<'_>) -> Answer {
        match self.run {
            Some(run) => run(call),
            None => Err(ApiError::not_simulated(self.name)),
        }
    }

    /// Whether it puts messages into a chat, and so counts for flood control.
    pub fn sends(&self) -> bool {
        let prefixes = ["send", "copy", "forward"];
        prefixes.iter().any(|prefix| self.name.starts_with(prefix))
            && !["sendChatAction", "sendMessageDraft"].contains(&self.name)
    }

    /// Whether it may have to wait for something to happen.
    pub fn is_poll(&self) -> bool {
        self.name == "getUpdates"
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::Schemas;
    use super::super::settings::Schema;
    use super::*;

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn every_method_of_the_schema_is_listed_once() {
        let Ok(Some(schemas)) = Schemas::read(&Schema::Found) else {
            eprintln!("skipped: there is no schema in HOMING_CONTRACTS");
            return;
        };
        let simulated = SIMULATED.iter().map(|(name, _)| *name);
        let mut listed: Vec<&str> = simulated.chain(REFUSED.iter().copied()).collect();
        listed.sort_unstable();
        let mut known: Vec<&str> = schemas.method_names().collect();
        known.sort_unstable();
        assert_eq!(listed, known);
    }
}
