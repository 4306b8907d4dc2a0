//! A small run of the model, and each planted bug in a scene that just holds it. The full run is the program `homing-model`.

use std::num::NonZeroUsize;
use std::time::Duration;

use homing_model::bug::{self, Bug, Planted};
use homing_model::rules::Rule;
use homing_model::{Homing, check, scenes};

const AT_MOST: Duration = Duration::from_secs(300);

#[test]
fn no_rule_can_be_broken() {
    let model = Homing::new(Bug::None, scenes::quick());
    let found = check(model, &Rule::ALL, NonZeroUsize::MIN, AT_MOST);
    assert!(found.broken.is_empty(), "{:#?}", found.broken);
    assert!(found.complete && found.unique > 50_000, "{found:?}");
    assert!(found.unreached.is_empty(), "{:?}", found.unreached);
}

#[test]
fn every_planted_bug_breaks_the_rule_that_is_there_for_it() {
    for Planted { bug, rule, scene } in bug::planted() {
        let model = Homing::new(bug, vec![scene]);
        let found = check(model, &[rule], NonZeroUsize::MIN, AT_MOST);
        assert!(
            found.broken.contains_key(rule.sentence()),
            "{bug:?} should break {rule:?}: {found:?}"
        );
    }
}

// The scenes of the planted bugs are no trap for the true rules.
#[test]
fn the_scenes_of_the_planted_bugs_are_clean_without_them() {
    for Planted { scene, bug, .. } in bug::planted() {
        let model = Homing::new(Bug::None, vec![scene]);
        let found = check(model, &Rule::ALL, NonZeroUsize::MIN, AT_MOST);
        assert!(found.broken.is_empty(), "{bug:?}: {:#?}", found.broken);
    }
}
