//! The table of OWN-30…41, row by row; then what must hold for every combination of facts and settings there is.

use super::*;

const TIP: SessionId = SessionId::from_number(7);
const ASKED: WindowId = WindowId::from_number(1);
const OTHER: WindowId = WindowId::from_number(2);
const NOW: Timestamp = Timestamp(1_800_000_000_000);
const DAY: Duration = Duration::from_secs(86_400);

const CURRENT: Standing = Standing::Current { tip: TIP };
const MISSING: [Missing; 4] = [
    Missing::Owner,
    Missing::Session,
    Missing::Profile,
    Missing::Account,
];
const ASKERS: [Asker; 4] = [
    Asker::NoWindow,
    Asker::Open(ASKED),
    Asker::Gone { other: Some(OTHER) },
    Asker::Gone { other: None },
];

/// The plain case, to be varied by each test.
fn facts(standing: Standing) -> Facts {
    Facts {
        standing,
        asker: Asker::NoWindow,
        consumed: None,
        held_since: None,
        now: NOW,
    }
}

fn ago(span: Duration) -> Option<Timestamp> {
    Some(Timestamp(NOW.millis() - span.as_millis() as i64))
}

fn judged(facts: Facts) -> Verdict {
    judge(&facts, &Policy::default())
}

fn judged_from(asker: Asker, policy: Policy) -> Verdict {
    judge(
        &Facts {
            asker,
            ..facts(CURRENT)
        },
        &policy,
    )
}

fn after_auto_reset(wish: AfterAutoReset) -> Policy {
    Policy {
        after_auto_reset: wish,
        ..Policy::default()
    }
}

// OWN-30
#[test]
fn work_of_the_current_lineage_is_delivered_to_its_tip() {
    assert_eq!(judged(facts(CURRENT)), Verdict::Deliver { window: None });
}

// OWN-31
#[test]
fn work_of_a_lineage_that_a_person_closed_is_dropped() {
    assert_eq!(
        judged(facts(Standing::Closed(Boundary::Reset))),
        Verdict::Drop(DropReason::SessionReset)
    );
    assert_eq!(
        judged(facts(Standing::Closed(Boundary::Deleted))),
        Verdict::Drop(DropReason::SessionDeleted)
    );
    assert_eq!(DropReason::SessionReset.name(), "session_reset");
    assert_eq!(DropReason::SessionDeleted.name(), "session_deleted");
}

// OWN-32
#[test]
fn work_of_a_lineage_that_ended_by_itself_follows_the_setting() {
    for boundary in [Boundary::Idle, Boundary::Daily] {
        let facts = facts(Standing::Closed(boundary));
        assert_eq!(judged(facts), Verdict::Notice(Place::Thread), "the default");
        for (wish, verdict) in [
            (AfterAutoReset::Notice, Verdict::Notice(Place::Thread)),
            (AfterAutoReset::Deliver, Verdict::Deliver { window: None }),
            (AfterAutoReset::Drop, Verdict::Drop(DropReason::AutoReset)),
        ] {
            assert_eq!(
                judge(&facts, &after_auto_reset(wish)),
                verdict,
                "{boundary:?} {wish:?}"
            );
        }
    }
}

// OWN-32, OWN-34
#[test]
fn work_that_outlives_an_automatic_reset_still_finds_its_window() {
    let policy = after_auto_reset(AfterAutoReset::Deliver);
    let facts = Facts {
        asker: Asker::Open(ASKED),
        ..facts(Standing::Closed(Boundary::Idle))
    };
    assert_eq!(
        judge(&facts, &policy),
        Verdict::Deliver {
            window: Some(ASKED)
        }
    );
}

// OWN-33
#[test]
fn work_of_a_parked_lineage_waits_whoever_asked() {
    for asker in ASKERS {
        assert_eq!(
            judged(Facts {
                asker,
                ..facts(Standing::Parked)
            }),
            Verdict::Hold(Hold::Parked),
            "{asker:?}"
        );
    }
}

// OWN-33: held, then current again.
#[test]
fn what_was_held_is_delivered_when_its_lineage_is_current_again() {
    assert_eq!(
        judged(Facts {
            held_since: ago(DAY),
            ..facts(CURRENT)
        }),
        Verdict::Deliver { window: None }
    );
}

// OWN-34
#[test]
fn an_open_window_gets_what_it_asked_for() {
    assert_eq!(
        judged_from(Asker::Open(ASKED), Policy::default()),
        Verdict::Deliver {
            window: Some(ASKED)
        }
    );
}

// OWN-35
#[test]
fn another_window_stands_in_for_one_that_is_gone() {
    assert_eq!(
        judged_from(Asker::Gone { other: Some(OTHER) }, Policy::default()),
        Verdict::Deliver {
            window: Some(OTHER)
        }
    );
}

// OWN-36
#[test]
fn with_nobody_at_a_window_it_waits_or_runs_as_the_setting_says() {
    let away = Asker::Gone { other: None };
    assert_eq!(
        judged_from(away, Policy::default()),
        Verdict::Hold(Hold::Away)
    );
    let run = Policy {
        when_away: WhenAway::Run,
        ..Policy::default()
    };
    assert_eq!(judged_from(away, run), Verdict::Deliver { window: None });
}

// OWN-37, OWN-38
#[test]
fn what_is_known_already_is_settled_wherever_its_owner_stands() {
    for standing in standings()
        .into_iter()
        .filter(|standing| *standing != Standing::Unknown)
    {
        for how in Consumption::ALL {
            assert_eq!(
                judged(Facts {
                    consumed: Some(how),
                    ..facts(standing)
                }),
                Verdict::Consume(how),
                "{standing:?}"
            );
        }
    }
}

// OWN-39
#[test]
fn work_without_an_address_is_dropped_or_told_at_home() {
    let home = Policy {
        unaddressed: Unaddressed::Home,
        ..Policy::default()
    };
    for missing in MISSING {
        let facts = facts(Standing::Unaddressed(missing));
        assert_eq!(
            judged(facts),
            Verdict::Drop(DropReason::Unaddressed(missing))
        );
        assert_eq!(judge(&facts, &home), Verdict::Notice(Place::Home));
    }
    assert_eq!(
        DropReason::Unaddressed(Missing::Owner).name(),
        "unaddressed"
    );
}

// OWN-40
#[test]
fn what_cannot_be_known_now_is_asked_again() {
    assert_eq!(
        judged(facts(Standing::Unknown)),
        Verdict::Retry(Unclear::StoreSilent)
    );
    assert_eq!(
        judged(facts(Standing::Compressing)),
        Verdict::Retry(Unclear::Compressing)
    );
}

// OWN-41
#[test]
fn a_hold_ends_after_seven_days_to_the_millisecond() {
    let week = 7 * DAY;
    let cases = [
        (None, false),
        (ago(Duration::ZERO), false),
        (ago(week - Duration::from_millis(1)), false),
        (ago(week), true),
        (ago(week + DAY), true),
        // The clock went back: it has been held for no time at all, not for an eternity.
        (Some(Timestamp(NOW.millis() + 1)), false),
    ];
    for (held_since, expired) in cases {
        let parked = judged(Facts {
            held_since,
            ..facts(Standing::Parked)
        });
        let away = judged(Facts {
            held_since,
            asker: Asker::Gone { other: None },
            ..facts(CURRENT)
        });
        let or_expired = |hold| {
            if expired {
                Verdict::Drop(DropReason::Expired)
            } else {
                Verdict::Hold(hold)
            }
        };
        assert_eq!(parked, or_expired(Hold::Parked), "{held_since:?}");
        assert_eq!(away, or_expired(Hold::Away), "{held_since:?}");
    }
}

fn standings() -> Vec<Standing> {
    let mut all = vec![
        CURRENT,
        Standing::Parked,
        Standing::Compressing,
        Standing::Unknown,
    ];
    all.extend(Boundary::ALL.map(Standing::Closed));
    all.extend(MISSING.map(Standing::Unaddressed));
    all
}

fn policies() -> Vec<Policy> {
    let mut all = Vec::new();
    for after_auto_reset in [
        AfterAutoReset::Notice,
        AfterAutoReset::Deliver,
        AfterAutoReset::Drop,
    ] {
        for when_away in [WhenAway::Hold, WhenAway::Run] {
            for unaddressed in [Unaddressed::Drop, Unaddressed::Home] {
                for hold_for in [Duration::ZERO, 7 * DAY, Duration::MAX] {
                    all.push(Policy {
                        after_auto_reset,
                        when_away,
                        unaddressed,
                        hold_for,
                    });
                }
            }
        }
    }
    all
}

/// Every combination, so that nothing depends on the luck of a sample. Times are on both sides of every hold.
fn everything() -> Vec<(Facts, Policy, Verdict)> {
    let consumptions = Consumption::ALL.into_iter().map(Some).chain([None]);
    let consumptions: Vec<Option<Consumption>> = consumptions.collect();
    let held = [
        None,
        ago(Duration::ZERO),
        ago(6 * DAY),
        ago(8 * DAY),
        Some(Timestamp(i64::MIN)),
        Some(Timestamp(i64::MAX)),
    ];
    let mut all = Vec::new();
    for policy in policies() {
        for standing in standings() {
            for asker in ASKERS {
                for consumed in &consumptions {
                    for held_since in held {
                        let facts = Facts {
                            standing,
                            asker,
                            consumed: *consumed,
                            held_since,
                            now: NOW,
                        };
                        all.push((facts, policy, judge(&facts, &policy)));
                    }
                }
            }
        }
    }
    assert_eq!(all.len(), 36 * 12 * 4 * 6 * 6);
    all
}

fn for_everything(holds: impl Fn(&Facts, &Policy, Verdict) -> bool) {
    for (facts, policy, verdict) in everything() {
        assert!(
            holds(&facts, &policy, verdict),
            "{facts:?}\n{policy:?}\n{verdict:?}"
        );
    }
}

// OWN-31
#[test]
fn nothing_of_a_lineage_that_a_person_closed_is_ever_told_or_kept() {
    for_everything(|facts, _, verdict| match facts.standing {
        Standing::Closed(Boundary::Reset | Boundary::Deleted) => {
            matches!(verdict, Verdict::Drop(_) | Verdict::Consume(_))
        }
        _ => true,
    });
}

// OWN-40
#[test]
fn the_unknown_is_always_asked_again_and_nothing_known_is() {
    for_everything(|facts, _, verdict| match facts.standing {
        Standing::Unknown => verdict == Verdict::Retry(Unclear::StoreSilent),
        Standing::Compressing => matches!(
            verdict,
            Verdict::Retry(Unclear::Compressing) | Verdict::Consume(_)
        ),
        _ => !matches!(verdict, Verdict::Retry(_)),
    });
}

// OWN-37, OWN-38
#[test]
fn what_is_consumed_is_never_posted_and_only_that_is_settled_so() {
    for_everything(|facts, _, verdict| match (facts.consumed, verdict) {
        (Some(how), Verdict::Consume(as_)) => how == as_,
        (Some(_), verdict) => {
            facts.standing == Standing::Unknown && matches!(verdict, Verdict::Retry(_))
        }
        (None, verdict) => !matches!(verdict, Verdict::Consume(_)),
    });
}

// OWN-41
#[test]
fn holds_expire_and_nothing_else_does() {
    for_everything(|facts, policy, verdict| {
        let overdue = facts
            .held_since
            .is_some_and(|since| facts.now.since(since) >= policy.hold_for);
        let waits = facts.standing == Standing::Parked
            || (facts.standing == CURRENT
                && facts.asker == Asker::Gone { other: None }
                && policy.when_away == WhenAway::Hold);
        let may_hold = waits && facts.consumed.is_none();
        matches!(verdict, Verdict::Hold(_)) == (may_hold && !overdue)
            && (verdict == Verdict::Drop(DropReason::Expired)) == (may_hold && overdue)
    });
}

// OWN-30, OWN-32
#[test]
fn only_the_current_lineage_is_delivered_to_but_by_the_wish_of_a_setting() {
    for_everything(|facts, policy, verdict| match (verdict, facts.standing) {
        (Verdict::Deliver { .. }, Standing::Current { .. }) => true,
        (Verdict::Deliver { .. }, Standing::Closed(Boundary::Idle | Boundary::Daily)) => {
            policy.after_auto_reset == AfterAutoReset::Deliver
        }
        (Verdict::Deliver { .. }, _) => false,
        (_, _) => true,
    });
}

// OWN-34, OWN-35: a window is addressed only if it is there.
#[test]
fn a_delivery_is_addressed_to_the_window_that_asked_or_its_stand_in() {
    for_everything(|facts, _, verdict| match verdict {
        Verdict::Deliver { window } => match facts.asker {
            Asker::Open(asked) => window == Some(asked),
            Asker::Gone { other } => window == other,
            Asker::NoWindow => window.is_none(),
        },
        _ => true,
    });
}

// OWN-32, OWN-39
#[test]
fn notices_are_for_automatic_resets_and_for_home() {
    for_everything(|facts, policy, verdict| match verdict {
        Verdict::Notice(Place::Thread) => matches!(
            facts.standing,
            Standing::Closed(Boundary::Idle | Boundary::Daily)
        ),
        Verdict::Notice(Place::Home) => {
            matches!(facts.standing, Standing::Unaddressed(_))
                && policy.unaddressed == Unaddressed::Home
        }
        _ => true,
    });
}

// OWN-64 is another's to decide: the verdict never gives that reason.
#[test]
fn a_reset_during_a_turn_is_not_decided_here() {
    for_everything(|_, _, verdict| verdict != Verdict::Drop(DropReason::ResetDuringTurn));
}
