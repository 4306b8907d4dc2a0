//! `homing doctor`: checks this machine and the data folder. Each line says what is so; a line that is not fine says what to do.

mod telegram;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

use homing_config::Config;
use homing_ports::store::Queries;
use homing_processes::Trees;
use serde_json::json;

use super::{block_on, print, reader};
use crate::arguments::{CheckedPlatform, Doctor};
use crate::data;
use crate::wiring::{self, tree_limits};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grade {
    Fine,
    /// It works, and could be better.
    Note,
    Wrong,
}

struct Finding {
    grade: Grade,
    what: &'static str,
    said: String,
}

pub fn run(arguments: &Doctor) -> anyhow::Result<ExitCode> {
    let folder = &arguments.place.data;
    let mut findings = vec![
        trees(folder, arguments.config.as_deref()),
        open_files(),
        folder_mode(folder),
        workspace(folder, arguments.config.as_deref()),
    ];
    findings.extend(arguments.config.as_deref().map(settings));
    findings.push(store(folder));
    findings.push(gateway(folder));
    if arguments.platform == Some(CheckedPlatform::Telegram) {
        findings.extend(telegram::look(arguments)?);
    }
    for finding in &findings {
        let grade = match finding.grade {
            Grade::Fine => "ok",
            Grade::Note => "note",
            Grade::Wrong => "wrong",
        };
        match arguments.place.json {
            true => print(
                &json!({"check": finding.what, "grade": grade, "said": finding.said}).to_string(),
            )?,
            false => print(&format!("{grade:<6}{:<12}{}", finding.what, finding.said))?,
        }
    }
    let wrong = findings.iter().any(|finding| finding.grade == Grade::Wrong);
    Ok(if wrong {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// How a whole tree of processes is ended: by the gateway that runs, or by one that would be started here.
fn trees(folder: &Path, config: Option<&Path>) -> Finding {
    let what = "processes";
    let trees = running(folder)
        .then(|| homing_processes::trees_of(folder))
        .flatten()
        .unwrap_or_else(homing_processes::trees);
    let wanted = read(config)
        .map(|config| tree_limits(&config))
        .unwrap_or_default();
    let unenforced = trees.not_enforced(wanted);
    let fine = matches!(trees, Trees::Cgroup { .. }) && unenforced.is_none();
    let said = match unenforced {
        Some(why) => format!("{}, but {why}", trees.how()),
        None => trees.to_string(),
    };
    Finding {
        grade: if fine { Grade::Fine } else { Grade::Note },
        what,
        said,
    }
}

/// Settings that cannot be read are another line's to report.
fn read(config: Option<&Path>) -> Option<Config> {
    let text = fs::read_to_string(config?).ok()?;
    Config::parse(&text).ok()
}

fn running(folder: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(data::control_path(folder)).is_ok()
}

fn open_files() -> Finding {
    /// Descriptors of a gateway with 2,000 living processes.
    const ENOUGH: u64 = 4_096;
    let what = "open files";
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    match limit {
        Some(limit) if limit < ENOUGH => Finding {
            grade: Grade::Note,
            what,
            said: format!(
                "at most {limit}; more than about {} processes at once will not start (raise LimitNOFILE, or `ulimit -Hn`)",
                limit / 2
            ),
        },
        Some(limit) => Finding {
            grade: Grade::Fine,
            what,
            said: format!("at most {limit}"),
        },
        None => Finding {
            grade: Grade::Fine,
            what,
            said: "no limit".into(),
        },
    }
}

fn folder_mode(folder: &Path) -> Finding {
    let what = "data folder";
    let wrong = |said: String| Finding {
        grade: Grade::Wrong,
        what,
        said,
    };
    match fs::metadata(folder) {
        Err(error) => Finding {
            grade: Grade::Note,
            what,
            said: format!("{}: {error}; `homing serve` makes it", folder.display()),
        },
        Ok(metadata) if !metadata.is_dir() => wrong(format!(
            "{} is not a folder; name another with --data",
            folder.display()
        )),
        Ok(metadata) => match metadata.permissions().mode() & 0o077 {
            0 => Finding {
                grade: Grade::Fine,
                what,
                said: format!("{} is readable by its owner only", folder.display()),
            },
            _ => wrong(format!(
                "{0} can be read by others: `chmod 700 {0}`",
                folder.display()
            )),
        },
    }
}

/// Whether what the gateway keeps is in the way of the commands that it runs.
fn workspace(data: &Path, config: Option<&Path>) -> Finding {
    let what = "workspace";
    let note = |said: String| Finding {
        grade: Grade::Note,
        what,
        said,
    };
    let named = match wiring::workspace(&read(config).unwrap_or_default()) {
        Ok(named) => named,
        Err(error) => return note(format!("{error:#}")),
    };
    let workspace = match named.canonicalize() {
        Ok(workspace) => workspace,
        Err(error) => return note(format!("{}: {error}", named.display())),
    };
    // One that is not there yet would be made under this name.
    let data = data
        .canonicalize()
        .or_else(|_| std::path::absolute(data))
        .unwrap_or_else(|_| data.to_owned());
    if data.starts_with(&workspace) {
        return note(format!(
            "the data folder {} lies in the workspace {}: tools for files do not touch it, but commands can; \
             name another folder as `processes.workspace`, or with --data",
            data.display(),
            workspace.display()
        ));
    }
    if workspace.starts_with(&data) {
        return note(format!(
            "the workspace {} lies in the data folder {}; name a folder elsewhere as `processes.workspace`",
            workspace.display(),
            data.display()
        ));
    }
    Finding {
        grade: Grade::Fine,
        what,
        said: format!("{}, apart from the data folder", workspace.display()),
    }
}

fn settings(path: &Path) -> Finding {
    let what = "settings";
    let read = fs::read_to_string(path).map_err(|error| error.to_string());
    match read.and_then(|text| Config::parse(&text).map_err(|error| error.to_string())) {
        Ok(_) => Finding {
            grade: Grade::Fine,
            what,
            said: format!("{} can be used", path.display()),
        },
        Err(problem) => Finding {
            grade: Grade::Wrong,
            what,
            said: format!("{}: {problem}", path.display()),
        },
    }
}

fn store(folder: &Path) -> Finding {
    let what = "store";
    if !data::store_path(folder).exists() {
        return Finding {
            grade: Grade::Note,
            what,
            said: "there is none yet; `homing serve` makes it".into(),
        };
    }
    let totals = block_on(async { Ok(reader(folder).await?.totals().await?) });
    match totals {
        Ok(totals) => {
            let dead = totals
                .outbox
                .iter()
                .find(|(state, _)| state == "dead")
                .map_or(0, |(_, count)| *count);
            let said = format!(
                "{} conversations, {} living processes, {dead} dead letters",
                totals.conversations, totals.live_processes
            );
            Finding {
                grade: if dead == 0 { Grade::Fine } else { Grade::Note },
                what,
                said,
            }
        }
        Err(error) => Finding {
            grade: Grade::Wrong,
            what,
            said: format!("{error:#}"),
        },
    }
}

fn gateway(folder: &Path) -> Finding {
    let what = "gateway";
    match running(folder) {
        true => Finding {
            grade: Grade::Fine,
            what,
            said: "runs".into(),
        },
        false => Finding {
            grade: Grade::Note,
            what,
            said: "does not run; `homing serve` starts it".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_folder_that_others_can_read_is_wrong_and_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let finding = folder_mode(folder.path());
        assert!(
            finding.grade == Grade::Wrong && finding.said.contains("chmod 700"),
            "{}",
            finding.said
        );
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(folder_mode(folder.path()).grade == Grade::Fine);
        assert!(
            folder_mode(&folder.path().join("absent"))
                .said
                .contains("homing serve")
        );
    }

    #[test]
    fn it_says_how_trees_are_ended_and_which_limits_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("homing.toml");
        fs::write(&path, "[processes]\nmemory_max = \"2G\"\n").unwrap();
        let (plain, limited) = (
            trees(folder.path(), None),
            trees(folder.path(), Some(&path)),
        );
        assert!(
            plain
                .said
                .starts_with("a process and everything it started is ended")
        );
        // A machine that can limit it has nothing to add.
        assert_eq!(
            limited.said == plain.said,
            limited.grade == Grade::Fine,
            "{}",
            limited.said
        );
        if limited.said != plain.said {
            let told = ", but `processes.memory_max` is not enforced: ";
            assert!(limited.said.contains(told), "{}", limited.said);
        }
    }

    #[test]
    fn a_data_folder_within_reach_of_commands_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work/data/inner")).unwrap();
        std::os::unix::fs::symlink("work/data", root.join("link")).unwrap();
        let settings = root.join("homing.toml");
        let looked = |name: &str, data: &str| {
            let path = root.join(name);
            let text = format!("[processes]\nworkspace = \"{}\"\n", path.display());
            fs::write(&settings, text).unwrap();
            workspace(&root.join(data), Some(&settings))
        };
        for data in ["work/data", "link", "work/absent", "work"] {
            let finding = looked("work", data);
            assert!(finding.grade == Grade::Note, "{data}: {}", finding.said);
            assert!(finding.said.contains("lies in the workspace"), "{data}");
        }
        let finding = looked("work/data/inner", "link");
        assert!(finding.said.contains("lies in the data folder"));
        let finding = looked("work", "data");
        assert!(finding.grade == Grade::Fine, "{}", finding.said);
        assert!(looked("nowhere", "data").grade == Grade::Note);
    }

    #[test]
    fn bad_settings_are_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("homing.toml");
        fs::write(&path, "[gateway]\nlisten = \"0.0.0.0:1\"\n").unwrap();
        let finding = settings(&path);
        assert!(
            finding.grade == Grade::Wrong && finding.said.contains("loopback"),
            "{}",
            finding.said
        );
    }
}
