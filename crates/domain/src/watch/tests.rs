#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use proptest::prelude::*;

/// A process that is watched over time.
#[derive(Default)]
struct Story {
    limiter: Limiter,
    breaker: Breaker,
    due: Option<Timestamp>,
    told: Vec<(i64, Action)>,
}

impl Story {
    fn ask(&mut self, new: u32, at: i64) {
        let (limiter, breaker, action) = decide(&self.limiter, &self.breaker, new, Timestamp(at));
        (self.limiter, self.breaker) = (limiter, breaker);
        match action {
            Action::Wait(until) => self.due = Some(until),
            Action::Count => self.due = None,
            Action::Tell { .. } | Action::SwitchOff { .. } => {
                self.due = None;
                self.told.push((at, action));
            }
        }
    }
    /// Time passes to `at`; timers fire when they are due.
    fn pass(&mut self, at: i64) {
        while let Some(due) = self.due.filter(|due| due.0 <= at) {
            self.ask(0, due.0);
        }
    }
    fn matches(&mut self, new: u32, at: i64) {
        self.pass(at);
        self.ask(new, at);
    }
}

// OWN-81
#[test]
fn a_burst_is_told_once_and_the_rest_when_the_window_ends() {
    let mut story = Story::default();
    story.matches(1, 0);
    story.matches(2, 1_000);
    story.matches(1, 2_000);
    story.pass(60_000);
    assert_eq!(
        story.told,
        [
            (0, Action::Tell { matches: 1 }),
            (15_000, Action::Tell { matches: 3 })
        ]
    );
}

// OWN-81
#[test]
fn three_full_windows_in_a_row_switch_it_off() {
    let mut story = Story::default();
    for at in [0, 1_000, 16_000, 31_000] {
        story.matches(1, at);
    }
    story.pass(100_000);
    story.matches(5, 100_000);
    let kinds: Vec<_> = story
        .told
        .iter()
        .map(|(at, action)| (*at, matches!(action, Action::SwitchOff { .. })))
        .collect();
    assert_eq!(
        kinds,
        [(0, false), (15_000, false), (30_000, false), (45_000, true)]
    );
    assert!(story.limiter.switched_off && story.limiter.waiting == 5);
}

// OWN-81
#[test]
fn a_quiet_window_begins_the_count_anew() {
    let mut story = Story::default();
    for start in [0, 100_000, 200_000] {
        story.matches(2, start);
        story.matches(1, start + 1_000);
        story.matches(1, start + 16_000);
        story.pass(start + 60_000);
    }
    // Eight are its life; the ninth is counted.
    assert_eq!(story.told.len(), 8);
    assert!(!story.limiter.switched_off);
    assert_eq!(story.limiter.waiting, 1);
}

// OWN-82
#[test]
fn sixteen_processes_at_once_trip_the_breaker_and_a_digest_follows() {
    let mut breaker = Breaker::default();
    let mut waits = Vec::new();
    let mut limiters = Vec::new();
    for process in 0..20 {
        let (limiter, after, action) = decide(&Limiter::default(), &breaker, 1, Timestamp(process));
        breaker = after;
        limiters.push(limiter);
        if let Action::Wait(until) = action {
            waits.push(until);
        }
    }
    assert_eq!(waits.len(), 5);
    assert!(waits.iter().all(|until| *until == Timestamp(15 + 30_000)));
    // A silenced process has spent nothing.
    assert_eq!(
        limiters[19],
        Limiter {
            waiting: 1,
            ..Limiter::default()
        }
    );
    let (_, _, action) = decide(&limiters[19], &breaker, 0, waits[0]);
    assert_eq!(action, Action::Tell { matches: 1 });
}

proptest! {
    // Nothing is lost silently: what matched is told or still counted.
    #[test]
    fn every_match_is_told_or_counted(steps in prop::collection::vec((0i64..20_000, 0u32..4), 0..80)) {
        let (mut story, mut at, mut all) = (Story::default(), 0, 0u64);
        for (pause, new) in steps {
            at += pause;
            story.matches(new, at);
            all += u64::from(new);
        }
        let told: u64 = story.told.iter().map(|(_, action)| match action {
            Action::Tell { matches } | Action::SwitchOff { matches } => u64::from(*matches),
            Action::Wait(_) | Action::Count => 0,
        }).sum();
        prop_assert_eq!(told + u64::from(story.limiter.waiting), all);
        prop_assert!(story.told.len() as u32 <= LIFETIME);
        for pair in story.told.windows(2) {
            prop_assert!(pair[1].0 - pair[0].0 >= WINDOW.as_millis() as i64);
        }
        // What waits has a timer, unless it will never be told.
        let ends = story.limiter.switched_off || story.limiter.told >= LIFETIME;
        prop_assert!(story.limiter.waiting == 0 || ends || story.due.is_some());
    }
}
