//! What every store must do, as checks whose names read as sentences.
//!
//! **Invariant:** a store that passes keeps the promises of `homing_ports::store`: all or none, first reason wins, at most once, fenced, durable.
//! Nothing here knows how: a check sees a [`Place`] where a store is, and handles on it.
//! **Absent on purpose:** sleeps and retries. Concurrent checks start everything at once and assert what must hold in every order.
//!
//! A store runs the suite with `homing_conformance::store_suite!(its_factory)` in a test, which makes a test of each check, or with [`store`].

#![allow(clippy::unwrap_used, reason = "a library of tests")]

pub mod checks;
mod scene;
pub mod sqlite;

use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use homing_ports::store::Store;

pub use scene::Scene;

/// Makes empty places for stores of one kind.
pub trait StoreFactory: Send + Sync {
    fn place(&self) -> Box<dyn Place>;
}

/// Where the rows of one store are. Gone when it is dropped.
#[async_trait]
pub trait Place: Send + Sync {
    /// One more handle on the same rows, as another gateway would have one.
    async fn open(&self) -> Arc<dyn Store>;

    /// The program `homing-appender`, told where the rows are.
    fn appender(&self) -> Command;
}

/// Hands every check to a macro as `module::name`.
#[macro_export]
macro_rules! with_every_check {
    ($then:path $(, $argument:expr)?) => {
        $then! { $($argument;)?
            inbound::a_message_is_accepted_once_per_platform_account_and_id
            inbound::the_same_id_from_another_account_platform_or_profile_is_another_message
            inbound::concurrent_repeats_are_one_message_in_one_conversation
            inbound::a_repeat_changes_nothing_even_under_another_key
            inbound::a_repeat_is_recognised_by_the_next_gateway
            inbound::a_message_is_taken_once_finished_once_and_requeued_only_when_taken
            inbound::what_waits_is_told_oldest_first_and_of_one_conversation
            inbound::opening_a_conversation_makes_no_session_and_only_one_row
            inbound::a_turn_starts_in_an_open_session_counts_tools_and_ends_once
            commits::a_commit_is_all_or_none_wherever_it_stops
            commits::a_commit_to_no_conversation_is_unmet
            commits::a_commit_of_nothing_is_done
            commits::an_id_that_exists_is_unmet_and_leaves_the_first_row_alone
            commits::another_conversations_rows_cannot_be_touched
            commits::a_stale_generation_is_unmet_after_reset_resume_and_compression
            commits::a_batch_with_unmet_commits_does_the_others_and_says_which
            commits::a_caller_that_goes_away_neither_loses_nor_blocks_anything
            lineage::the_first_end_reason_wins
            lineage::a_session_has_one_continuation
            lineage::a_hundred_and_fifty_compressions_keep_one_lineage_and_one_tip
            lineage::a_closed_lineage_is_neither_continued_nor_pointed_at
            lineage::a_pointer_names_the_tip_of_this_conversation
            lineage::a_branch_remembers_its_parent_and_is_no_continuation
            lineage::histories_are_told_oldest_first_and_cut_at_the_old_end
            work::a_process_keeps_its_owner_and_every_setting
            work::a_process_starts_once_fails_once_and_ends_once
            work::an_unknown_ending_stays_unknown
            work::exit_and_notification_are_one_commit
            work::only_the_owners_lineage_consumes_and_only_once
            work::a_stop_that_came_to_nothing_is_taken_back
            adoption::adoption_changes_the_owner_clears_consumption_and_takes_what_was_not_told
            adoption::what_is_adopted_tells_its_end_and_is_in_the_background
            work::live_processes_are_of_a_lineage_and_ended_ones_come_last
            work::an_id_is_found_by_its_last_characters
            work::a_delegation_ends_once
            outbox::old_records_are_removed_and_what_waits_stays
            notifications::a_notification_is_unique_by_source_kind_and_sequence
            notifications::a_decision_moves_only_from_the_state_it_saw_and_is_recorded
            notifications::a_hold_keeps_its_age_until_it_settles
            notifications::what_was_told_never_moves_and_a_drop_can_be_taken_back
            notifications::a_notification_enters_a_lineages_history_once
            notifications::concurrent_entries_into_history_are_one
            notifications::nothing_is_delivered_that_is_not_in_a_history
            notifications::a_failed_turn_counts_an_attempt
            notifications::a_claim_that_is_released_takes_back_what_its_turn_has_read
            notifications::an_open_notification_comes_with_its_owner_lineage_and_process
            notifications::an_owner_that_names_nothing_is_no_owner
            notifications::an_open_notification_finds_its_lineage_at_any_depth
            outbox::items_wait_in_the_order_they_were_queued
            outbox::an_attempt_is_fenced_by_its_number
            outbox::only_the_attempt_under_way_settles
            outbox::an_uncertain_send_is_looked_up_sent_again_or_given_up
            outbox::cancelling_takes_what_has_not_left_of_one_lineage
            outbox::a_send_that_did_not_arrive_is_cancelled_by_its_own_attempt
            outbox::a_dead_letter_keeps_its_content_and_reason
            outbox::totals_add_up
            platforms::a_message_keeps_what_it_quotes_its_files_and_its_group
            platforms::a_message_is_edited_while_it_is_queued_and_never_later
            platforms::a_turn_finishes_all_that_it_has_taken_and_nothing_else
            platforms::a_turn_knows_what_shows_it_while_it_runs
            platforms::an_item_keeps_everything_that_goes_with_its_text
            platforms::a_dead_letter_is_told_again_once
            platforms::a_chat_moves_with_everything_that_is_to_go_there
            platforms::a_chat_moves_to_a_place_that_has_a_conversation_already
            platforms::a_chat_of_the_same_name_elsewhere_does_not_move
            platforms::a_gateway_that_was_replaced_moves_and_edits_nothing
            platforms::the_conversations_of_a_place_are_found_whoever_speaks_there
            agents::a_context_is_the_summary_what_was_kept_and_what_came_after
            agents::a_branch_sees_its_parent_as_it_was_and_a_sub_agent_nothing_of_it
            agents::what_was_undone_is_readable_and_out_of_sight
            agents::a_message_keeps_what_an_agent_keeps_beside_it
            approvals::a_question_is_asked_by_a_turn_that_runs_and_settled_once
            approvals::a_question_of_a_sub_agent_lives_as_long_as_it_runs
            approvals::an_approval_stands_for_its_person_lineage_and_exact_command
            agents::what_was_used_adds_up_over_a_lineage
            agents::those_that_were_started_together_are_found_together
            agents::a_search_finds_all_words_in_this_conversation_best_first
            agents::a_model_is_chosen_for_one_conversation
            agents::a_command_becomes_a_message_while_it_is_queued
            turns::what_background_turns_told_stays_when_what_was_before_it_is_undone
            turns::what_sub_agents_used_counts_for_the_lineage_that_owns_them
            turns::a_command_becomes_an_earlier_message_with_all_it_came_with
            rules::a_boundary_does_to_rows_what_the_rule_says
            rules::an_attempt_makes_of_a_row_what_the_rule_says
            rules::a_restart_can_make_of_a_row_what_the_rule_says
            rules::what_waits_first_is_what_the_rule_sends
            windows::a_window_opens_once_is_touched_while_open_and_closes_for_good
            fencing::a_second_take_over_fences_the_first_everywhere
            fencing::a_store_that_had_a_gateway_wants_a_take_over
            fencing::only_one_of_two_gateways_writes_at_any_moment
            races::no_answer_is_queued_behind_a_reset
            races::of_many_claims_one_wins
            races::of_consumption_and_claim_the_store_shows_one_order
            durability::what_was_acknowledged_survives_kill_9
            durability::conversations_with_work_are_found_after_a_restart
        }
    };
}

/// Runs every check, one after another, each in a place of its own.
pub async fn store(factory: impl StoreFactory) {
    macro_rules! run {
        ($factory:expr; $($module:ident::$name:ident)*) => {
            $(checks::$module::$name(&*$factory.place()).await;)*
        };
    }
    with_every_check!(run, factory);
}

/// One `#[tokio::test]` for each check.
#[macro_export]
macro_rules! store_suite {
    ($factory:expr) => {
        $crate::with_every_check! { $crate::store_tests, $factory }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! store_tests {
    ($factory:expr; $($module:ident::$name:ident)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $name() {
            $crate::checks::$module::$name(&*$crate::StoreFactory::place(&$factory)).await;
        })*
    };
}
