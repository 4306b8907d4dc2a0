//! What every adapter of a chat platform must do, as checks whose names read as sentences.
//!
//! **Invariant:** an adapter that passes keeps the promises of `homing_ports::{platform, inbox}`: what was accepted is never lost, what is sent lands
//! where it was sent or is an error that says so, one send is at most one message, and what could not be told is never said to be nothing.
//! Nothing here knows how: a check sees a [`World`] with people in it, and an adapter.
//! **Absent on purpose:** sleeps, and checks that pass because there is nothing to check. A check names what it needs of a platform; where that is not,
//! it says so, and each platform's test says how many of those there are.
//!
//! A platform runs the suite with `homing_platforms::platform_suite!(its_kind, not_of_it = N)` in a test, which makes a test of each check.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::missing_panics_doc,
    reason = "a library of tests"
)]

pub mod checks;
pub mod kept;
pub mod logs;
pub mod relay;
pub mod scene;
pub mod simulated;
pub mod telegram;
pub mod world;

use std::future::Future;
use std::pin::Pin;

pub use scene::Scene;
pub use world::{Kind, Need, Spot, World};

/// Hands every check to a macro: its module, its name, what it needs.
#[macro_export]
macro_rules! with_every_check {
    ($then:path; $($argument:tt)*) => {
        $then! { $($argument)*;
            arriving::a_message_is_not_confirmed_while_it_is_being_stored []
            arriving::what_could_not_be_stored_comes_again_in_order_and_once []
            arriving::what_was_not_stored_when_the_adapter_ended_comes_to_the_next_one []
            arriving::what_was_written_while_nobody_listened_comes_in_order []
            arriving::a_restart_brings_nothing_anew_and_loses_nothing []
            arriving::the_order_of_each_place_is_kept_among_others [At(Group), At(Private)]
            arriving::the_same_words_twice_are_two_messages []
            arriving::a_message_that_can_never_be_stored_stops_nothing []
            arriving::an_update_that_is_brought_again_carries_the_same_id [Repeats]
            arriving::updates_in_another_order_lose_nothing_and_keep_the_order [Reorders]
            arriving::an_unreadable_update_stops_nothing_and_is_kept [Unreadable]
            arriving::no_trouble_of_a_poll_loses_anything [PollTroubles]
            arriving::ending_in_the_middle_of_much_loses_nothing []
            arriving::ending_is_prompt_while_nothing_happens []
            arriving::ending_is_prompt_while_the_store_fails []
            places::private_chats_come_and_go_exactly_there [At(Private)]
            places::topics_of_private_chats_come_and_go_exactly_there [At(PrivateTopic)]
            places::groups_come_and_go_exactly_there [At(Group)]
            places::general_topics_come_and_go_exactly_there [At(General)]
            places::topics_come_and_go_exactly_there [At(Topic)]
            places::channels_come_and_go_exactly_there [At(Channel)]
            places::what_people_write_to_a_channel_comes_and_goes_exactly_there [At(Direct)]
            places::messages_to_many_places_at_once_do_not_mix [Sends]
            places::a_reply_is_of_the_place_and_not_of_a_thread [Replies, At(Group), At(General)]
            places::a_misplaced_message_is_told_as_it_landed [Misplacing, Sends]
            places::what_was_misplaced_can_be_taken_back [Misplacing, TakesBack, Sends]
            places::a_deleted_place_is_refused_and_nothing_lands_above_it [Deleting, Sends]
            places::a_closed_place_says_so_until_it_is_reopened [Closing, Sends]
            places::a_chat_that_moved_says_where_to_and_is_the_same_chat [Moving, Sends]
            places::a_bot_that_was_removed_is_refused_and_the_operator_told [Removing, Sends]
            sending::one_send_is_one_message_and_its_receipt [Sends]
            sending::a_place_keeps_the_order_of_sends [Sends]
            sending::a_text_that_is_too_long_is_refused_and_not_cut [Sends]
            sending::a_rate_limit_says_how_long_and_sends_nothing [RateLimits, Sends]
            sending::a_platform_that_is_away_says_so_and_is_announced_when_it_is_back [Sends]
            sending::a_server_that_failed_is_not_asked_twice [ServerErrors, Sends]
            sending::a_lost_answer_is_uncertain_and_one_message [AnswersLost, Sends]
            sending::a_connection_that_broke_early_is_not_asked_twice [Resets, Sends]
            sending::a_silence_is_uncertain_whether_it_was_taken_or_not [Silences, Sends]
            sending::a_slow_answer_is_an_answer [Slowness, Sends]
            sending::the_same_id_is_one_message_where_the_platform_deduplicates [Deduplicates]
            sending::looking_up_finds_what_arrived_and_nothing_else [LooksUp]
            sending::what_may_be_a_repeat_is_marked_for_people [Unprotected, Sends]
            rendering::parts_fit_and_lose_nothing [Sends]
            rendering::no_character_of_any_script_is_cut [Sends]
            rendering::a_long_code_block_keeps_every_line [Sends]
            rendering::nothing_renders_to_nothing_and_strange_markdown_to_something [Sends]
            rendering::what_was_rendered_is_taken_as_it_is [Sends]
            extras::formatting_that_is_refused_costs_itself_only [Formatting, Sends]
            extras::a_pressed_button_is_what_it_says [Buttons]
            extras::a_file_arrives_byte_for_byte_with_its_words [Files]
            extras::a_file_loses_none_of_its_long_words [Files]
            extras::a_file_that_is_not_there_is_refused [Files]
            extras::an_answer_takes_the_place_of_its_preview_however_often [Previews]
            extras::an_answer_whose_preview_is_gone_is_sent_nevertheless [Previews, TakesBack]
            extras::an_attachment_is_copied_exactly [Attachments]
            extras::a_file_that_is_too_big_is_refused [Attachments]
            extras::a_copy_that_fails_leaves_no_half_file [Attachments]
            extras::an_album_is_one_message_in_its_order [Albums]
            extras::a_long_text_that_was_cut_is_one_message [Pastes]
            extras::a_quoted_message_comes_along [Replies, At(Group)]
            extras::an_edit_names_the_message_it_changes [Edits]
            live::typing_is_shown_where_it_was_asked_for_and_leaves_no_message [Typing]
            live::previews_are_one_message_that_the_answer_replaces [Previews]
            live::previews_of_a_place_that_is_away_do_not_keep_the_answer [Previews]
            secrets::no_secret_is_in_a_log_an_error_or_a_debug_text [Secrets]
        }
    };
}

/// A check of one scene.
pub type Check = for<'a> fn(&'a mut Scene<'_>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Runs one check in a world of its own, if this platform has what it needs.
pub async fn run(kind: &dyn Kind, name: &str, needs: &[Need], check: Check) {
    if let Some(missing) = missing(kind, needs) {
        println!("not of this platform: {name} needs {missing:?}");
        return;
    }
    let mut scene = Scene::of(kind).await;
    check(&mut scene).await;
    scene.end().await;
}

fn missing(kind: &dyn Kind, needs: &[Need]) -> Option<Need> {
    needs.iter().copied().find(|need| !kind.has(*need))
}

/// Says which checks are not of this platform, and how many of how many they are.
pub fn not_of_it(kind: &dyn Kind, checks: &[(&str, &[Need])]) -> (usize, usize) {
    let absent = checks
        .iter()
        .filter_map(|(name, needs)| Some((name, missing(kind, needs)?)));
    let lines: Vec<String> = absent
        .map(|(name, missing)| format!("  {name}: no {missing:?}"))
        .collect();
    println!(
        "{} of {} checks are not of this platform:\n{}",
        lines.len(),
        checks.len(),
        lines.join("\n")
    );
    (lines.len(), checks.len())
}

/// One test for each check, and one that counts those that are not of this platform.
#[macro_export]
macro_rules! platform_suite {
    ($kind:expr, not_of_it = $count:expr) => {
        $crate::with_every_check! { $crate::platform_tests; $kind; $count }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! platform_tests {
    ($kind:expr; $count:expr; $($module:ident::$name:ident [$($need:ident $(($spot:ident))?),*])*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let needs = [$($crate::Need::$need $(($crate::Spot::$spot))?),*];
            $crate::run(&$kind, stringify!($name), &needs, |scene| {
                Box::pin($crate::checks::$module::$name(scene))
            })
            .await;
        })*

        #[test]
        fn checks_that_are_not_of_this_platform_are_counted() {
            let checks: &[(&str, &[$crate::Need])] = &[
                $((stringify!($name), &[$($crate::Need::$need $(($crate::Spot::$spot))?),*])),*
            ];
            let (absent, all) = $crate::not_of_it(&$kind, checks);
            assert_eq!(absent, $count, "of {all}");
        }
    };
}
