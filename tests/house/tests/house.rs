//! The checks of this crate, on the workspace as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use homing_house::arrows;
use homing_house::files::{self, File};
use homing_house::workspace::{self, Member};

/// Folders that hold no source: what is built, what git keeps, what a gateway that was started here keeps.
const NOT_SOURCE: [&str; 4] = [".git", "target", "data", "node_modules"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is there")
}

fn members() -> Vec<Member> {
    // Without dependencies nothing is resolved, so neither a network nor a filled cache is needed.
    let cargo = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
            "--locked",
        ])
        .current_dir(root())
        .output()
        .expect("cargo can be started");
    assert!(
        cargo.status.success(),
        "{}",
        String::from_utf8_lossy(&cargo.stderr)
    );
    let metadata = serde_json::from_slice(&cargo.stdout).expect("cargo prints JSON");
    workspace::members(&metadata).expect("cargo's JSON is as documented")
}

fn all_files() -> Vec<File> {
    let root = root();
    let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be read") {
            let entry = entry.expect("an entry can be read");
            let kind = entry.file_type().expect("an entry has a type");
            let path = entry.path();
            if kind.is_dir() && !NOT_SOURCE.iter().any(|name| entry.file_name() == *name) {
                folders.push(path);
            } else if kind.is_file() {
                // Somebody may be moving files about; what is gone is not checked.
                let Ok(content) = fs::read(&path) else {
                    continue;
                };
                let path = path.strip_prefix(&root).expect("it is inside");
                found.push(File {
                    path: path.display().to_string(),
                    content,
                });
            }
        }
    }
    found
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[track_caller]
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn crates_use_only_what_they_may() {
    let members = members();
    assert!(members.len() > 10, "cargo lists too few members");
    assert_none(&arrows::arrows(&members));
}

#[test]
fn confined_packages_stay_where_they_belong() {
    assert_none(&arrows::confined(&members()));
}

#[test]
fn no_file_names_a_folder_of_its_authors_machine() {
    assert_none(&files::tied_to_a_place(&all_files()));
}

#[test]
fn files_have_one_subject() {
    assert_none(&files::too_long(&all_files(), files::LONG));
}

#[test]
fn the_architecture_page_mentions_every_crate() {
    let members = members();
    let folders = members.iter().map(|member| member.folder.as_str());
    assert_none(&files::unmentioned(&read("ARCHITECTURE.md"), folders));
}

#[test]
fn the_pages_name_only_what_is_there() {
    let root = root();
    for name in ["README.md", "ARCHITECTURE.md"] {
        let exists = |path: &str| root.join(path).exists();
        assert_none(&files::dead_paths(name, &read(name), exists));
    }
}

/// OWN-90: with systemd's defaults, supervisors would end with the gateway.
#[test]
fn the_systemd_unit_leaves_processes_alone() {
    let wanted = ["KillMode=process", "Delegate=yes", "OOMPolicy=continue"];
    let name = "config/homing.service";
    assert_none(&files::lines_missing(name, &read(name), &wanted));
}
