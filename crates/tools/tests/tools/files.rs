//! Files that a model reads, changes and writes back keep what was not shown of them; the gateway's own are not for it.

use crate::doubles::Stage;
use homing_ports::agent::{ToolText, Toolbox};
use serde_json::{Value, json};

async fn called(stage: &Stage, name: &str, arguments: Value) -> ToolText {
    let tools = stage.tools();
    tools
        .call_named(name, &arguments.to_string())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_secret_that_was_not_shown_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::with_workspace(folder.path().to_owned());
    let path = folder.path().join("a.env");
    let secret = "PASSWORD=hunter2hunter2\nLEVEL=1\n# [redacted]\n";
    std::fs::write(&path, secret).unwrap();
    let shown = called(&stage, "read_file", json!({"path": "a.env"})).await;
    assert_eq!(shown.text, "PASSWORD=[redacted]\nLEVEL=1\n# [redacted]");

    let back = shown.text.replace("LEVEL=1", "LEVEL=2");
    let refused = [
        ("write_file", json!({"path": "a.env", "content": back})),
        ("write_file", json!({"path": "copy/a.env", "content": back})),
        (
            "edit_file",
            json!({"path": "a.env", "old": "hunter2hunter2", "new": "[redacted]"}),
        ),
    ];
    for (name, arguments) in refused {
        let answer = called(&stage, name, arguments).await;
        assert!(
            answer.failed && answer.text.contains("`edit_file`"),
            "{answer:?}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), secret);
        assert!(!folder.path().join("copy").exists());
    }
    let old = json!({"path": "a.env", "old": "PASSWORD=[redacted]\nLEVEL=1", "new": "x"});
    let answer = called(&stage, "edit_file", old).await;
    assert!(
        answer.failed && answer.text.contains("something else there"),
        "{answer:?}"
    );

    // The other lines can be changed, and the word itself is kept where it was.
    let edit = json!({"path": "a.env", "old": "LEVEL=1", "new": "LEVEL=2"});
    assert!(!called(&stage, "edit_file", edit).await.failed);
    let content = "PASSWORD=other\n# [redacted]\n";
    let write = json!({"path": "a.env", "content": content});
    assert!(!called(&stage, "write_file", write).await.failed);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
}

#[tokio::test]
async fn a_long_line_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::with_workspace(folder.path().to_owned());
    let line: String = (0..5_000).map(|number| format!("{number:05},")).collect();
    std::fs::write(folder.path().join("a.json"), &line).unwrap();
    let shown = called(&stage, "read_file", json!({"path": "a.json"})).await;
    assert!(
        shown
            .text
            .starts_with("[the first 20480 of 30000 bytes of line 1 of 1; ")
    );
    let rest = json!({"path": "a.json", "from": 1, "skip": 20480});
    let rest = called(&stage, "read_file", rest).await;
    let both = [&shown.text, &rest.text].map(|text| text.split_once('\n').unwrap().1);
    assert_eq!(both.concat(), line);
    assert!(
        rest.text
            .starts_with("[bytes 20480 to 30000 of 30000 bytes of line 1 of 1]")
    );
}

#[tokio::test]
async fn the_gateways_own_folder_is_closed_to_every_tool_for_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("data")).unwrap();
    std::fs::write(root.join("data/homing.db"), "rows").unwrap();
    std::fs::write(root.join("notes"), "rows").unwrap();
    std::os::unix::fs::symlink("data", root.join("link")).unwrap();
    let stage = Stage::with_workspace(root.clone()).closing(root.join("data"));
    for path in ["data/homing.db", "link/homing.db"] {
        for (name, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            (
                "edit_file",
                json!({"path": path, "old": "rows", "new": "x"}),
            ),
            (
                "search_files",
                json!({"path": path.trim_end_matches("/homing.db"), "pattern": "rows"}),
            ),
            ("send_file", json!({"path": path})),
        ] {
            let answer = called(&stage, name, arguments).await;
            let closed = answer.text.contains("the gateway's own data folder");
            assert!(answer.failed && closed, "{name} {path}: {answer:?}");
        }
    }
    assert_eq!(std::fs::read(root.join("data/homing.db")).unwrap(), b"rows");
    let found = called(&stage, "search_files", json!({"pattern": "rows"})).await;
    assert_eq!(found.text, "notes:1: rows");
}
