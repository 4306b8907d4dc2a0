//! Every named point stands in the code, and what stands in the code has a name in the list.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use homing_ports::crash::POINTS;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn placed() -> BTreeMap<String, usize> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for place in ["crates", "adapters"] {
        sources(&root.join(place), &mut files);
    }
    let mut placed = BTreeMap::new();
    for file in files {
        // Somebody may be moving files about; what is gone holds no point.
        let text = fs::read_to_string(file).unwrap_or_default();
        for rest in text.split("crash::point(\"").skip(1) {
            let name = rest.split('"').next().unwrap_or_default();
            *placed.entry(name.to_owned()).or_default() += 1;
        }
    }
    placed
}

#[test]
fn every_point_is_placed_and_every_place_has_a_point() {
    let placed = placed();
    let missing: Vec<_> = POINTS
        .iter()
        .filter(|name| !placed.contains_key(**name))
        .collect();
    assert!(missing.is_empty(), "not in the code: {missing:?}");
    let unknown: Vec<_> = placed
        .keys()
        .filter(|name| !POINTS.contains(&name.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "not in the list (crates/ports/src/crash.rs): {unknown:?}"
    );
}

#[test]
fn names_are_used_once() {
    let mut names = POINTS.to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), POINTS.len());
}
