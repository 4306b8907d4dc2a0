//! What a run must have seen, or its silence says nothing.

use homing_domain::notification::State as Standing;
use homing_domain::outbox::{How, Lineage as Stale, OutboxState};
use stateright::Property;

use crate::Homing;
use crate::state::{Held, State, Turn};

type Sight = (&'static str, fn(&Homing, &State) -> bool);

const SIGHTS: [Sight; 11] = [
    ("delivered", |_, state| stands(state, Standing::Delivered)),
    ("noticed", |_, state| stands(state, Standing::Noticed)),
    ("consumed", |_, state| stands(state, Standing::Consumed)),
    ("dropped", |_, state| stands(state, Standing::Dropped)),
    ("held", |_, state| stands(state, Standing::Held)),
    ("held too long", |_, state| {
        let mut works = state.store.works.iter();
        works.any(|work| work.held == Held::TooLong)
    }),
    (
        "two told in one turn",
        |_, state| matches!(state.turn(), Some(Turn::Background { told, .. }) if told.numbers().count() == 2),
    ),
    ("an item is uncertain", |_, state| {
        let mut items = state.store.outbox.iter();
        items.any(|item| item.state == OutboxState::Uncertain)
    }),
    ("a possible repeat is marked", |_, state| {
        sends(state, |sending| sending.how == How::Marked)
    }),
    (
        "a boundary came while an item was on its way",
        |_, state| sends(state, |sending| sending.lineage == Stale::Closed),
    ),
    (
        "told after the end of another lineage was confirmed",
        |_, state| !state.people.confirmed.is_empty() && !state.people.told.is_empty(),
    ),
];

pub(crate) fn all() -> impl Iterator<Item = Property<Homing>> {
    SIGHTS
        .into_iter()
        .map(|(name, seen)| Property::sometimes(name, seen))
}

pub(crate) fn names() -> Vec<&'static str> {
    SIGHTS.iter().map(|(name, _)| *name).collect()
}

fn stands(state: &State, standing: Standing) -> bool {
    let mut works = state.store.works.iter();
    works.any(|work| work.standing == Some(standing))
}

fn sends(state: &State, so: fn(&crate::state::Sending) -> bool) -> bool {
    let sending = state
        .memory
        .as_ref()
        .and_then(|memory| memory.sending.as_ref());
    sending.is_some_and(so)
}
