//! What `cargo metadata --no-deps` says, as far as the checks need it.

use serde_json::Value;

/// A crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// From the workspace's root: `crates/domain`.
    pub folder: String,
    pub dependencies: Vec<Dependency>,
}

/// What a manifest names, optional and target-specific dependencies included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub name: String,
    /// Where it is if it is one of ours.
    pub folder: Option<String>,
    pub used: Use,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Code,
    Build,
    Tests,
}

/// Reads the members from cargo's JSON.
///
/// # Errors
/// Which part of it is not as cargo documents it.
pub fn members(metadata: &Value) -> Result<Vec<Member>, String> {
    let root = text(metadata, "workspace_root")?;
    list(metadata, "packages")?
        .iter()
        .map(|package| {
            let manifest = text(package, "manifest_path")?;
            let folder = manifest.strip_suffix("/Cargo.toml").unwrap_or(manifest);
            let dependencies = list(package, "dependencies")?;
            Ok(Member {
                folder: inside(root, folder)
                    .ok_or_else(|| format!("{folder} is not inside the workspace {root}"))?,
                dependencies: dependencies
                    .iter()
                    .map(|dependency| read(root, dependency))
                    .collect::<Result<_, _>>()?,
            })
        })
        .collect()
}

fn read(root: &str, dependency: &Value) -> Result<Dependency, String> {
    Ok(Dependency {
        name: text(dependency, "name")?.to_owned(),
        folder: dependency["path"]
            .as_str()
            .and_then(|path| inside(root, path)),
        used: match dependency["kind"].as_str() {
            None => Use::Code,
            Some("build") => Use::Build,
            Some("dev") => Use::Tests,
            Some(other) => return Err(format!("cargo has a new kind of dependency: {other}")),
        },
    })
}

fn inside(root: &str, path: &str) -> Option<String> {
    path.strip_prefix(root)?
        .strip_prefix('/')
        .map(str::to_owned)
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value[key]
        .as_str()
        .ok_or_else(|| format!("cargo metadata has no text `{key}`"))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    value[key]
        .as_array()
        .ok_or_else(|| format!("cargo metadata has no list `{key}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_and_what_they_use_are_read() {
        let metadata = json!({
            "workspace_root": "/home/us/homing",
            "packages": [{
                "manifest_path": "/home/us/homing/crates/ports/Cargo.toml",
                "dependencies": [
                    {"name": "homing-domain", "path": "/home/us/homing/crates/domain", "kind": null},
                    {"name": "tempfile", "kind": "dev"},
                    {"name": "cc", "kind": "build"},
                ],
            }],
        });
        let used = |name: &str, folder: Option<&str>, used| Dependency {
            name: name.into(),
            folder: folder.map(str::to_owned),
            used,
        };
        assert_eq!(
            members(&metadata),
            Ok(vec![Member {
                folder: "crates/ports".into(),
                dependencies: vec![
                    used("homing-domain", Some("crates/domain"), Use::Code),
                    used("tempfile", None, Use::Tests),
                    used("cc", None, Use::Build),
                ],
            }])
        );
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_not_an_empty_list() {
        assert!(members(&json!({})).is_err());
        assert!(members(&json!({"workspace_root": "/a", "packages": [{}]})).is_err());
        let elsewhere = json!({"workspace_root": "/a", "packages": [
            {"manifest_path": "/b/Cargo.toml", "dependencies": []},
        ]});
        assert!(members(&elsewhere).is_err());
    }
}
