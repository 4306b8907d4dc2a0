//! Everything settles: from each reachable state, once nobody disturbs it any more.
//!
//! **Why not `eventually`.** The checker's own `eventually` looks at the ends of paths without a cycle, and misses a system that goes round for
//! ever. So liveness is said as a rule about every state: from here, if no person, crash or failure comes in between and everybody else goes
//! on, the system reaches a state where all is settled. The path is made of the model's own steps, with no bound but its length; a run that
//! goes round, or that stops too early, breaks the rule. Since it is asked of every state, no disturbance can lead to one that is lost.
//!
//! Holds are no exception: what is held expires when the time passes that a hold may last (OWN-41).

use homing_domain::outbox::Attempt;

use crate::Homing;
use crate::action::Action;
use crate::state::State;

/// More steps than any calm run needs: it tells a run that goes round.
const LONGEST: usize = 100;

/// What goes on by itself; the first that is possible is taken.
const BY_ITSELF: [Action; 16] = [
    Action::Finish,
    Action::Restart,
    Action::Arrive,
    Action::EndSend(Attempt::Accepted),
    Action::EndCompression,
    Action::EndForeground,
    Action::EndBackground,
    Action::ProcessEnds(0),
    Action::ProcessEnds(1),
    Action::Recorded(0),
    Action::Recorded(1),
    Action::Judge,
    Action::BeginForeground,
    Action::BeginBackground,
    Action::BeginSend,
    // Nothing else can happen now but that time passes.
    Action::Wait,
];

impl Homing {
    pub(crate) fn comes_home(&self, from: &State) -> bool {
        let mut here = None;
        for _ in 0..LONGEST {
            let state = here.as_ref().unwrap_or(from);
            let next = BY_ITSELF
                .iter()
                .find_map(|action| self.step(state, *action));
            match next {
                Some(next) => here = Some(next),
                None => return state.is_settled(),
            }
        }
        false
    }
}
