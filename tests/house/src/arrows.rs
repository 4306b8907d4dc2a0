//! Who may depend on whom.
//!
//! **Invariant:** only what is listed is allowed. A new crate has no arrows until somebody gives it some here.

use crate::workspace::{Dependency, Member, Use};

/// Rooms, and the rooms each may use, in any kind of dependency. `adapters/*` stands for all of that folder; the first row that fits a crate is its own.
const ROOMS: &[(&str, &[&str])] = &[
    ("crates/domain", &[]),
    // Compiled into every supervisor.
    ("crates/shim", &[]),
    ("crates/config", &["crates/domain"]),
    ("crates/ports", &["crates/domain"]),
    ("crates/watcher", &["crates/domain", "crates/ports"]),
    ("crates/tools", &["crates/domain", "crates/ports"]),
    (
        "crates/gateway",
        &[
            "crates/domain",
            "crates/ports",
            "crates/watcher",
            "crates/tools",
        ],
    ),
    ("crates/homing", &["crates/*", "adapters/*"]),
    // It starts supervisors and reads their folders.
    (
        "adapters/processes",
        &["crates/domain", "crates/ports", "crates/shim"],
    ),
    ("adapters/*", &["crates/domain", "crates/ports"]),
    ("tests/*", &["crates/*", "adapters/*", "tests/*"]),
];

/// Rooms that may use only these packages from outside. Their tests may use others.
const OUTSIDE: &[(&str, &[&str])] = &[
    // No I/O, no async, no clock, no randomness: nothing that has any of them.
    (
        "crates/domain",
        &["regex", "serde", "thiserror", "unicode-segmentation"],
    ),
    ("crates/shim", &["libc"]),
];

/// Packages, with everything called `NAME-…`, that only these crates may use.
/// `config/deny.toml` says the same of the whole dependency tree.
const CONFINED: &[(&str, &[&str])] = &[
    (
        "sqlx",
        &["adapters/store-sqlite", "adapters/store-postgres"],
    ),
    ("axum", &["adapters/console", "tests/simulators"]),
    ("teloxide", &["adapters/telegram"]),
    ("serenity", &["adapters/discord"]),
];

/// Every arrow between members that is not listed.
pub fn arrows(members: &[Member]) -> Vec<String> {
    let mut complaints = Vec::new();
    for member in members {
        let Some((_, may_use)) = ROOMS.iter().find(|(room, _)| fits(room, &member.folder)) else {
            complaints.push(format!(
                "{} has no room: say what it may use in ROOMS (tests/house/src/arrows.rs)",
                member.folder
            ));
            continue;
        };
        let used = member
            .dependencies
            .iter()
            .filter_map(|used| used.folder.as_deref());
        for used in used.filter(|used| !may_use.iter().any(|room| fits(room, used))) {
            complaints.push(forbidden(&member.folder, used, may_use));
        }
    }
    complaints
}

fn forbidden(from: &str, to: &str, may_use: &[&str]) -> String {
    let allowed = match may_use {
        [] => "nothing of ours".to_owned(),
        rooms => rooms.join(", "),
    };
    let way_out = match (from.starts_with("adapters/"), to) {
        (_, to) if to.starts_with("tests/") => {
            "move the test that needs it into a crate under tests/"
        }
        (true, _) => {
            "state what you need as a trait in crates/ports, and connect the two in crates/homing"
        }
        (false, to) if to.starts_with("adapters/") => {
            "use the trait in crates/ports; crates/homing hands the adapter in"
        }
        (false, _) => "move what both need into a crate that both may use",
    };
    format!("{from} → {to} is not allowed ({from} may use: {allowed}); {way_out}")
}

/// Every use of an outside package where it does not belong.
pub fn confined(members: &[Member]) -> Vec<String> {
    let uses = members.iter().flat_map(|member| {
        let outside = member
            .dependencies
            .iter()
            .filter(|used| used.folder.is_none());
        outside.map(move |used| (member, used))
    });
    uses.filter_map(|(member, used)| {
        only_elsewhere(member, used).or_else(|| not_here(member, used))
    })
    .collect()
}

fn only_elsewhere(member: &Member, used: &Dependency) -> Option<String> {
    let (package, homes) = CONFINED
        .iter()
        .find(|(package, _)| is_family(package, &used.name))?;
    (!homes.contains(&member.folder.as_str())).then(|| {
        format!(
            "{} → {} is not allowed: {package} belongs to {}; ask for what you need through a trait in crates/ports",
            member.folder,
            used.name,
            homes.join(" and ")
        )
    })
}

fn not_here(member: &Member, used: &Dependency) -> Option<String> {
    let (_, packages) = OUTSIDE.iter().find(|(room, _)| *room == member.folder)?;
    (used.used != Use::Tests && !packages.contains(&used.name.as_str())).then(|| {
        format!(
            "{} → {} is not allowed ({} may use: {}); keep it out, or say in OUTSIDE (tests/house/src/arrows.rs) why it is harmless",
            member.folder,
            used.name,
            member.folder,
            packages.join(", ")
        )
    })
}

fn fits(room: &str, folder: &str) -> bool {
    match room.strip_suffix('*') {
        Some(parent) => folder
            .strip_prefix(parent)
            .is_some_and(|name| !name.contains('/')),
        None => room == folder,
    }
}

fn is_family(package: &str, name: &str) -> bool {
    name.strip_prefix(package)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(folder: &str, ours: &[&str], outside: &[(&str, Use)]) -> Member {
        let ours = ours.iter().map(|folder| Dependency {
            name: format!("homing-{folder}"),
            folder: Some((*folder).to_owned()),
            used: Use::Code,
        });
        let outside = outside.iter().map(|(name, used)| Dependency {
            name: (*name).to_owned(),
            folder: None,
            used: *used,
        });
        Member {
            folder: folder.to_owned(),
            dependencies: ours.chain(outside).collect(),
        }
    }

    fn arrow(from: &str, to: &str) -> Vec<String> {
        arrows(&[member(from, &[to], &[])])
    }

    #[test]
    fn the_listed_arrows_are_allowed() {
        for (from, to) in [
            ("crates/ports", "crates/domain"),
            ("crates/watcher", "crates/ports"),
            ("crates/gateway", "crates/tools"),
            ("crates/config", "crates/domain"),
            ("crates/homing", "crates/gateway"),
            ("crates/homing", "adapters/console"),
            ("adapters/telegram", "crates/ports"),
            ("adapters/processes", "crates/shim"),
            ("tests/scenarios", "crates/gateway"),
            ("tests/scenarios", "tests/simulators"),
        ] {
            assert_eq!(arrow(from, to), Vec::<String>::new(), "{from} → {to}");
        }
    }

    #[test]
    fn every_other_arrow_is_named() {
        for (from, to) in [
            ("crates/domain", "crates/ports"),
            ("crates/ports", "crates/gateway"),
            ("crates/watcher", "crates/tools"),
            ("crates/tools", "crates/watcher"),
            ("crates/watcher", "crates/gateway"),
            ("crates/gateway", "adapters/store-sqlite"),
            ("crates/gateway", "crates/config"),
            ("crates/config", "crates/ports"),
            ("crates/shim", "crates/domain"),
            ("adapters/console", "crates/gateway"),
            ("adapters/console", "crates/watcher"),
            ("adapters/console", "crates/tools"),
            ("adapters/console", "crates/shim"),
            ("adapters/console", "adapters/store-sqlite"),
            ("adapters/store-sqlite", "tests/simulators"),
            ("crates/homing", "tests/scenarios"),
        ] {
            let complaints = arrow(from, to);
            assert_eq!(complaints.len(), 1, "{from} → {to}");
            assert!(
                complaints[0].starts_with(&format!("{from} → {to} is not allowed"))
                    && complaints[0].contains("; "),
                "{complaints:?}"
            );
        }
    }

    #[test]
    fn a_crate_that_nobody_placed_is_refused() {
        let complaints = arrows(&[member("crates/attic", &[], &[])]);
        assert!(complaints[0].contains("crates/attic has no room"));
        // A crate inside another one is not covered by that one's row.
        assert_eq!(
            arrows(&[member("adapters/console/more", &[], &[])]).len(),
            1
        );
    }

    #[test]
    fn confined_packages_stay_where_they_belong() {
        let uses = |folder, package| confined(&[member(folder, &[], &[(package, Use::Code)])]);
        for (folder, package) in [
            ("adapters/store-sqlite", "sqlx"),
            ("adapters/store-postgres", "sqlx-postgres"),
            ("adapters/console", "axum"),
            ("tests/simulators", "axum"),
            ("adapters/telegram", "teloxide"),
            ("crates/gateway", "tokio"),
            // Another package whose name only begins alike.
            ("crates/gateway", "axumatic"),
        ] {
            assert_eq!(uses(folder, package), Vec::<String>::new(), "{folder}");
        }
        for (folder, package) in [
            ("crates/gateway", "sqlx"),
            ("tests/scenarios", "sqlx"),
            ("adapters/slack", "axum"),
            ("adapters/slack", "axum-extra"),
            ("adapters/discord", "teloxide-core"),
            ("adapters/telegram", "serenity"),
        ] {
            assert!(
                uses(folder, package)[0].starts_with(&format!("{folder} → {package} ")),
                "{folder} → {package}"
            );
        }
    }

    #[test]
    fn the_domain_and_the_supervisor_use_little_and_their_tests_more() {
        let shim = |used| confined(&[member("crates/shim", &[], &[("tempfile", used)])]);
        assert_eq!(shim(Use::Tests), Vec::<String>::new());
        assert_eq!(shim(Use::Code).len(), 1);
        assert_eq!(shim(Use::Build).len(), 1);
        let domain = confined(&[member("crates/domain", &[], &[("tokio", Use::Code)])]);
        assert!(domain[0].starts_with("crates/domain → tokio is not allowed"));
    }
}
