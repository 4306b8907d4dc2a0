//! The suite on trial: adapters that make one mistake each, and the check that finds it.
//!
//! A mistake stands between the suite and an adapter that is right, so that it makes the same mistake on every platform.

#![allow(clippy::unwrap_used, reason = "tests")]

mod inbound;
mod outbound;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_platforms::simulated::Simulated;
use homing_platforms::telegram::TelegramKind;
use homing_platforms::{Kind, Need, World, checks, kept};
use homing_ports::inbox::Inbox;
use homing_ports::platform::{Platform, Repeats};

/// A platform whose adapter makes a mistake.
struct Wrong<M> {
    kind: Box<dyn Kind>,
    mistake: M,
}

#[async_trait]
impl Kind for Wrong<outbound::Mistake> {
    async fn world(&self) -> Box<dyn World> {
        self.kind.world().await
    }
    fn has(&self, need: Need) -> bool {
        self.kind.has(need)
    }
    fn platform(&self, adapter: Arc<dyn Platform>) -> Arc<dyn Platform> {
        Arc::new(outbound::Wrong {
            adapter,
            mistake: self.mistake,
        })
    }
}

#[async_trait]
impl Kind for Wrong<inbound::Mistake> {
    async fn world(&self) -> Box<dyn World> {
        self.kind.world().await
    }
    fn has(&self, need: Need) -> bool {
        self.kind.has(need)
    }
    fn inbox(&self, inbox: Arc<dyn Inbox>) -> Arc<dyn Inbox> {
        Arc::new(inbound::Wrong::new(inbox, self.mistake))
    }
}

/// The check fails with the mistake, in these words. That it passes without is what the suite's other tests show.
async fn found(kind: impl Kind + 'static, check: homing_platforms::Check, words: &'static str) {
    kept::wait_at_most(Duration::from_secs(5));
    let trial = tokio::spawn(async move {
        homing_platforms::run(&kind, "trial", &[], check).await;
    });
    let failed = trial.await.expect_err("the mistake was not found");
    let said = failed.into_panic();
    let said = said
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| said.downcast_ref::<&str>().copied())
        .unwrap_or_default();
    assert!(said.contains(words), "found by another failure: {said}");
}

macro_rules! trials {
    ($($name:ident: $kind:expr, $side:ident::$mistake:ident => $module:ident::$check:ident, $words:expr;)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let wrong = Wrong {
                kind: Box::new($kind),
                mistake: $side::Mistake::$mistake,
            };
            found(wrong, |scene| Box::pin(checks::$module::$check(scene)), $words).await;
        })*
    };
}

const TELEGRAM: TelegramKind = TelegramKind::Polling;
const UNPROTECTED: Simulated = Simulated(Repeats::Unprotected);

trials! {
    an_adapter_that_sends_again_by_itself:
        TELEGRAM, outbound::SendsAgain => sending::a_server_that_failed_is_not_asked_twice, "a second time";
    an_adapter_that_sends_again_what_was_lost:
        UNPROTECTED, outbound::SendsAgain => sending::a_lost_answer_is_uncertain_and_one_message, "a second time";
    an_adapter_that_says_nothing_was_sent:
        UNPROTECTED, outbound::SaysNothingWasSent => sending::a_lost_answer_is_uncertain_and_one_message, "and said to be";
    an_adapter_that_swallows_refusals:
        TELEGRAM, outbound::SwallowsRefusals => places::a_deleted_place_is_refused_and_nothing_lands_above_it, "Ok";
    an_adapter_that_forgets_the_topic:
        TELEGRAM, outbound::ForgetsTheTopic => places::topics_come_and_go_exactly_there, "assertion";
    an_adapter_that_falls_back_to_the_place_above:
        TELEGRAM, outbound::FallsBack => places::a_deleted_place_is_refused_and_nothing_lands_above_it, "Ok";
    an_adapter_that_falls_back_from_what_is_closed:
        TELEGRAM, outbound::FallsBack => places::a_closed_place_says_so_until_it_is_reopened, "Ok";
    an_adapter_that_says_it_landed_where_it_was_sent:
        UNPROTECTED, outbound::HidesTheLanding => places::a_misplaced_message_is_told_as_it_landed, "assertion";
    an_adapter_that_forgets_how_long:
        UNPROTECTED, outbound::ForgetsHowLong => sending::a_rate_limit_says_how_long_and_sends_nothing, "assertion";
    an_adapter_that_marks_no_repeat:
        TELEGRAM, outbound::MarksNoRepeat => sending::what_may_be_a_repeat_is_marked_for_people, "short";
    an_adapter_that_cuts_short:
        UNPROTECTED, outbound::CutsShort => rendering::parts_fit_and_lose_nothing, "seed";
    an_adapter_that_cuts_characters:
        UNPROTECTED, outbound::CutsCharacters => rendering::no_character_of_any_script_is_cut, "was cut";
    an_adapter_that_leaves_extras_out:
        TELEGRAM, outbound::LeavesExtrasOut => extras::a_file_arrives_byte_for_byte_with_its_words, "another one";
    an_adapter_that_leaves_buttons_out:
        TELEGRAM, outbound::LeavesExtrasOut => extras::a_pressed_button_is_what_it_says, "assertion";
    an_adapter_that_leaves_previews_beside_answers:
        TELEGRAM, outbound::LeavesExtrasOut => live::previews_are_one_message_that_the_answer_replaces, "the answer";
    an_adapter_that_types_in_words:
        TELEGRAM, outbound::TypesInWords => live::typing_is_shown_where_it_was_asked_for_and_leaves_no_message, "assertion";
    an_adapter_that_finds_what_never_was:
        Simulated(Repeats::LookUp), outbound::FindsAnything => sending::looking_up_finds_what_arrived_and_nothing_else, "assertion";
    an_adapter_that_copies_half:
        TELEGRAM, outbound::CopiesHalf => extras::an_attachment_is_copied_exactly, "another file";

    an_adapter_that_confirms_before_it_is_stored:
        TELEGRAM, inbound::ConfirmsEarly => arriving::what_was_not_stored_when_the_adapter_ended_comes_to_the_next_one, "again and again";
    an_adapter_that_gives_every_delivery_an_id:
        TELEGRAM, inbound::CountsDeliveries => arriving::an_update_that_is_brought_again_carries_the_same_id, "not heard: the repeat";
    an_adapter_that_takes_the_words_for_the_id:
        TELEGRAM, inbound::TakesWordsForIds => arriving::the_same_words_twice_are_two_messages, "assertion";
    an_adapter_that_numbers_the_general_topic:
        TELEGRAM, inbound::NumbersTheGeneralTopic => places::general_topics_come_and_go_exactly_there, "assertion";
    an_adapter_that_takes_replies_for_threads:
        TELEGRAM, inbound::TakesRepliesForThreads => places::a_reply_is_of_the_place_and_not_of_a_thread, "assertion";
    an_adapter_that_does_not_keep_the_order:
        TELEGRAM, inbound::SwapsPairs => arriving::what_was_written_while_nobody_listened_comes_in_order, "not heard: three";
    an_adapter_that_drops_edits:
        TELEGRAM, inbound::DropsNews => extras::an_edit_names_the_message_it_changes, "not heard: the edit";
    an_adapter_that_drops_reopenings:
        TELEGRAM, inbound::DropsNews => places::a_closed_place_says_so_until_it_is_reopened, "not heard: that it is open again";
    an_adapter_that_drops_moves:
        TELEGRAM, inbound::DropsNews => places::a_chat_that_moved_says_where_to_and_is_the_same_chat, "not heard: that it moved";
    an_adapter_that_drops_albums:
        TELEGRAM, inbound::DropsWhatIsBeside => extras::an_album_is_one_message_in_its_order, "assertion";
}
