//! Secrets, from where the settings say they are. What is read here goes to the adapter that needs it, and nowhere else.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, bail};
use homing_config::SecretSource;

/// The secret itself, without the line end that editors add. `key` names the setting, for the error.
pub fn read(source: &SecretSource, key: &str) -> anyhow::Result<String> {
    let secret = match source {
        SecretSource::File(path) => from_file(path).with_context(|| format!("`{key}`"))?,
        SecretSource::Environment(name) => match std::env::var(name) {
            Ok(secret) => secret,
            Err(_) => bail!(
                "`{key}`: the variable {name} is not set, or is no text; set it where the gateway is started"
            ),
        },
    };
    let secret = secret.trim().to_owned();
    if secret.is_empty() {
        bail!("`{key}`: it is empty");
    }
    Ok(secret)
}

/// Refuses one that others than its owner can read.
fn from_file(path: &Path) -> anyhow::Result<String> {
    let mode = std::fs::metadata(path)
        .with_context(|| format!("reading {}", path.display()))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        bail!(
            "{} can be read by others (mode {:03o}): `chmod 600 {}`",
            path.display(),
            mode & 0o777,
            path.display()
        );
    }
    std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_secret_that_others_can_read_is_refused_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "123:abc\n").unwrap();
        let source = SecretSource::File(path.clone());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let refused = format!("{:#}", read(&source, "telegram.token").unwrap_err());
        assert!(
            refused.contains("telegram.token") && refused.contains("chmod 600"),
            "{refused}"
        );
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&source, "telegram.token").unwrap(), "123:abc");
        std::fs::write(&path, " \n").unwrap();
        assert!(read(&source, "telegram.token").is_err());
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let source = SecretSource::Environment("HOMING_NOT_SET_ANYWHERE".into());
        let refused = format!("{:#}", read(&source, "agent.key").unwrap_err());
        assert!(refused.contains("HOMING_NOT_SET_ANYWHERE"), "{refused}");
    }
}
