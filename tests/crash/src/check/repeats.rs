//! What was posted more than once: nothing, where the platform can tell; only what says so, where it cannot (OWN-94).

use homing_ports::platform::Repeats;

use super::posts::{Post, Posts};
use super::{Fault, Found};
use crate::accounts::{account, kind_of};

pub fn check(posts: &Posts, found: &mut Found) {
    for post in &posts.all {
        let Some(thread) = post.thread else {
            found.fault(Fault::Misrouted, format!("{} has no thread", first(post)));
            continue;
        };
        let kind = kind_of(thread);
        if post.account != account(kind) {
            found.fault(
                Fault::Misrouted,
                format!("{} left by the account {}", first(post), post.account),
            );
        }
        match (kind, post.repeat, post.marked) {
            (Repeats::Unprotected, true, true) => found.figures.repeats_marked += 1,
            (Repeats::Unprotected, true, false) => found.fault(
                Fault::Duplicated,
                format!("{} was posted again and does not say so", first(post)),
            ),
            (Repeats::Deduplicates | Repeats::LookUp, true, _) => found.fault(
                Fault::Duplicated,
                format!("{} was posted again on a {kind:?} platform", first(post)),
            ),
            (Repeats::Deduplicates | Repeats::LookUp, false, true) => found.fault(
                Fault::Books,
                format!(
                    "{} says that it may be a repeat, where the platform can tell",
                    first(post)
                ),
            ),
            (_, false, _) => {}
        }
    }
}

fn first(post: &Post) -> String {
    let id = post.outbox.map_or_else(String::new, |id| id.to_string());
    let line = post.text.lines().next().unwrap_or_default();
    format!("{id} (`{line}`)")
}
