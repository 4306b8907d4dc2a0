//! Every order in which results, resets, crashes and sends can meet, over the real verdict and the real rules of the outbox.
//!
//! One conversation, two pieces of background work, up to four lineages. The gateway around the rules is modelled: its commits, what it
//! remembers between them, what a crash takes away. `homing_domain::verdict::judge`, `homing_watcher::facts::facts` and all of
//! `homing_domain::outbox` are the code that ships. The checker walks through every reachable state within the bounds.
//!
//! **Invariant:** a rule is checked against the model's own truth ([`rules`]), never against the function under test; and each rule is shown to be
//! able to fail by a planted bug ([`bug`]).
//! **Absent on purpose:** wake-ups and timers (a step that is possible is taken at some time), texts, several gateways, a store that does not
//! answer (it delays a step and changes none), and a message that reaches the platform after its sender has given it up: that nobody can close.

mod action;
pub mod bug;
mod calm;
mod commands;
mod judging;
mod reached;
pub mod rules;
pub mod scenes;
mod sending;
pub mod state;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Property};

pub use action::Action;
use bug::Bug;
use rules::Rule;
use scenes::Scene;
use state::{Process, State, Unfinished};

/// The system, with its bounds.
#[derive(Debug, Clone)]
pub struct Homing {
    pub bug: Bug,
    /// Each is walked through; they share nothing.
    pub scenes: Vec<Scene>,
    actions: Vec<Action>,
}

impl Homing {
    pub fn new(bug: Bug, scenes: Vec<Scene>) -> Homing {
        Homing {
            bug,
            scenes,
            actions: Action::all(),
        }
    }

    /// One step, if it is possible now and changes something.
    fn step(&self, before: &State, action: Action) -> Option<State> {
        if !is_thinkable(before, action) {
            return None;
        }
        let mut state = before.clone();
        happens(&mut state, action, self.bug).then_some(state)
    }
}

/// A cheap look before a state is copied.
fn is_thinkable(state: &State, action: Action) -> bool {
    let up = |needs: fn(&state::Memory) -> bool| state.memory.as_ref().is_some_and(needs);
    match action {
        Action::ProcessEnds(number) => state.store.works[number].process == Process::Running,
        Action::Recorded(number) => {
            let work = &state.store.works[number];
            up(|_| true) && work.process.is_over() && work.standing.is_none()
        }
        Action::Restart => state.memory.is_none(),
        Action::Wait => state
            .store
            .works
            .iter()
            .any(|work| work.held == state::Held::Recently),
        Action::CloseWindow(window) => state.store.windows[window],
        Action::OpenWindow(_) => state.setting.windowed,
        Action::Arrive | Action::EndSend(_) => up(|memory| memory.sending.is_some()),
        Action::BeginSend => up(|_| true) && !state.store.outbox.is_empty(),
        Action::Finish => up(|memory| memory.unfinished.is_some()),
        Action::Start
        | Action::Look(_)
        | Action::EndForeground
        | Action::EndBackground
        | Action::FailBackground
        | Action::Stop => up(|memory| memory.turn.is_some()),
        Action::BeginForeground | Action::BeginBackground | Action::BeginCompression => {
            up(state::Memory::is_free)
        }
        Action::EndCompression => up(|memory| memory.compressing),
        Action::Message
        | Action::Judge
        | Action::New
        | Action::Branch
        | Action::Resume(_)
        | Action::Delete(_)
        | Action::Kill(_)
        | Action::Idle
        | Action::Crash => up(|_| true),
    }
}

fn happens(state: &mut State, action: Action, bug: Bug) -> bool {
    match action {
        Action::ProcessEnds(number) => process_ends(state, number),
        Action::Recorded(number) => {
            state.store.works[number].standing = Some(homing_domain::notification::State::Pending);
            true
        }
        Action::Message => state.message(),
        Action::BeginForeground => state.begin_foreground(),
        Action::Start => state.start(),
        Action::Look(number) => state.look(number, bug),
        Action::EndForeground => state.end_foreground(),
        Action::Judge => state.judge(bug),
        Action::BeginBackground => state.begin_background(bug),
        Action::EndBackground => state.end_background(bug),
        Action::FailBackground => state.fail_background(),
        Action::New => state.new_session(bug),
        Action::Branch => state.branch(bug),
        Action::Resume(lineage) => state.resume(lineage, bug),
        Action::Delete(lineage) => state.delete(lineage, bug),
        Action::Stop => state.stop(bug),
        Action::Kill(number) => state.kill(number, bug),
        Action::Idle => state.idle(),
        Action::BeginCompression => state.begin_compression(),
        Action::EndCompression => state.end_compression(),
        Action::BeginSend => state.begin_send(bug),
        Action::Arrive => state.arrive(),
        Action::EndSend(attempt) => state.end_send(attempt, bug),
        Action::Finish => state.finish(),
        Action::Crash => state.crash(),
        Action::Restart => state.restart(bug),
        Action::Wait => wait(state),
        Action::CloseWindow(window) => state.close_window(window),
        Action::OpenWindow(window) => state.open_window(window),
    }
}

/// One that a kill is on its way to was stopped, whichever came first.
fn process_ends(state: &mut State, number: usize) -> bool {
    let unfinished = state.memory.as_ref().and_then(|memory| memory.unfinished);
    state.store.works[number].process = match unfinished {
        Some(Unfinished::Stop(stopped)) if stopped == number => Process::Stopped,
        _ => Process::Ended,
    };
    true
}

fn wait(state: &mut State) -> bool {
    for work in &mut state.store.works {
        if work.held == state::Held::Recently {
            work.held = state::Held::TooLong;
        }
    }
    true
}

impl Model for Homing {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let first = |scene: &Scene| State::first(scene.setting, scene.left);
        self.scenes.iter().map(first).collect()
    }

    /// Where a rule is broken the path ends, so that it is as short as it can be.
    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.broken.any() {
            return;
        }
        let possible =
            |action: &&Action| is_thinkable(state, **action) && action.pay(state.left).is_some();
        actions.extend(self.actions.iter().filter(possible));
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let left = action.pay(state.left)?;
        let mut next = self.step(state, action)?;
        next.left = left;
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let by = |rule: Rule, condition: fn(&Homing, &State) -> bool| {
            Property::always(rule.sentence(), condition)
        };
        let mut properties = vec![
            by(
                Rule::QuietAfterConfirmation,
                kept::<{ Rule::QuietAfterConfirmation as u8 }>,
            ),
            by(
                Rule::ClosedDoesNotLeave,
                kept::<{ Rule::ClosedDoesNotLeave as u8 }>,
            ),
            by(Rule::OnceIntoHistory, |_, state| {
                state.each_once_in_history()
            }),
            by(Rule::DeliveredIsInHistory, |_, state| {
                state.delivered_is_in_history()
            }),
            by(Rule::Settles, Homing::comes_home),
            by(Rule::SettledStays, kept::<{ Rule::SettledStays as u8 }>),
            by(Rule::NoRepeat, kept::<{ Rule::NoRepeat as u8 }>),
            by(Rule::OwnLineageOnly, kept::<{ Rule::OwnLineageOnly as u8 }>),
            by(Rule::HeldWhileAway, kept::<{ Rule::HeldWhileAway as u8 }>),
            by(Rule::Order, kept::<{ Rule::Order as u8 }>),
            by(
                Rule::ConsumedByRight,
                kept::<{ Rule::ConsumedByRight as u8 }>,
            ),
            by(
                Rule::CancelledByAPerson,
                kept::<{ Rule::CancelledByAPerson as u8 }>,
            ),
            by(Rule::SentHasArrived, kept::<{ Rule::SentHasArrived as u8 }>),
        ];
        properties.extend(reached::all());
        properties
    }
}

fn kept<const RULE: u8>(_: &Homing, state: &State) -> bool {
    let rule = Rule::ALL.into_iter().find(|rule| *rule as u8 == RULE);
    rule.is_some_and(|rule| !state.broken.has(rule))
}

/// What a run found.
#[derive(Debug, Clone)]
pub struct Found {
    pub states: usize,
    pub unique: usize,
    pub depth: usize,
    /// The rules that were broken, each with the steps that lead there.
    pub broken: BTreeMap<&'static str, Vec<String>>,
    /// What the rules are about and no state showed: a rule about what never happens says nothing.
    pub unreached: Vec<&'static str>,
    /// Whether all there is within the bounds was seen.
    pub complete: bool,
}

/// Walks through everything within the bounds, or until these rules are broken.
pub fn check(model: Homing, until: &[Rule], threads: NonZeroUsize, at_most: Duration) -> Found {
    let begun = Instant::now();
    let checker = model
        .checker()
        .threads(threads.get())
        .timeout(at_most)
        .finish_when(HasDiscoveries::AllOf(
            until.iter().map(|rule| rule.sentence()).collect(),
        ))
        .spawn_bfs()
        .join();
    let mut broken = BTreeMap::new();
    let mut unreached = reached::names();
    for (name, path) in checker.discoveries() {
        if Rule::of_sentence(name).is_none() {
            unreached.retain(|reached| *reached != name);
            continue;
        }
        let steps = path.into_actions().into_iter();
        broken.insert(name, steps.map(|action| format!("{action:?}")).collect());
    }
    Found {
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        depth: checker.max_depth(),
        complete: begun.elapsed() < at_most,
        broken,
        unreached,
    }
}
