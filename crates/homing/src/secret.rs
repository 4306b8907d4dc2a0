//! Secrets, from where the settings say they are. What is read here goes to the adapter that needs it, and nowhere else.

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, bail};
use homing_config::{Config, SecretSource};

/// Bytes of all secrets together that can be handed over: the least that a pipe holds.
pub const MOST: usize = 4 * 1024;

/// What came in variables, by their names, and is not in the environment any more. Set once, before anything else runs.
static RECEIVED: OnceLock<HashMap<String, String>> = OnceLock::new();

/// Those that the settings name as variables, and that are set.
pub fn in_environment(config: &Config) -> Vec<(String, String)> {
    let sources = config.secrets().into_iter();
    let names = sources.filter_map(|(_, source)| match source {
        SecretSource::Environment(name) => Some(name.clone()),
        SecretSource::File(_) => None,
    });
    names
        .filter_map(|name| std::env::var(&name).ok().map(|secret| (name, secret)))
        .collect()
}

/// For [`receive`]. Neither names nor values of variables can hold a NUL byte.
pub fn handed_over(secrets: &[(String, String)]) -> Vec<u8> {
    let pairs = secrets.iter();
    pairs
        .flat_map(|(name, secret)| format!("{name}\0{secret}\0").into_bytes())
        .collect()
}

/// Takes what was handed over when this program was started anew.
pub fn receive(from: impl Read) -> anyhow::Result<()> {
    let mut text = String::new();
    from.take(MOST as u64)
        .read_to_string(&mut text)
        .context("reading the secrets that were handed over")?;
    let words: Vec<&str> = text.split_terminator('\0').collect();
    let pairs = words.chunks_exact(2);
    let pairs = pairs.map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
    if RECEIVED.set(pairs.collect()).is_err() {
        bail!("secrets were handed over twice");
    }
    Ok(())
}

fn from_environment(name: &str) -> Option<String> {
    let received = RECEIVED.get().and_then(|received| received.get(name));
    received.cloned().or_else(|| std::env::var(name).ok())
}

/// The secret itself, without the line end that editors add. `key` names the setting, for the error.
pub fn read(source: &SecretSource, key: &str) -> anyhow::Result<String> {
    let secret = match source {
        SecretSource::File(path) => from_file(path).with_context(|| format!("`{key}`"))?,
        SecretSource::Environment(name) => match from_environment(name) {
            Some(secret) => secret,
            None => bail!(
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
    fn what_is_handed_over_is_received() {
        let secrets = [
            ("HOMING_HANDED_A", "one = 1\n"),
            ("HOMING_HANDED_B", ""),
            ("HOMING_HANDED_C", "drei: ü"),
        ];
        let secrets = secrets.map(|(name, secret)| (name.to_owned(), secret.to_owned()));
        receive(handed_over(&secrets).as_slice()).unwrap();
        for (name, secret) in secrets {
            assert_eq!(from_environment(&name), Some(secret));
        }
        assert!(receive(&b""[..]).is_err());
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let source = SecretSource::Environment("HOMING_NOT_SET_ANYWHERE".into());
        let refused = format!("{:#}", read(&source, "agent.key").unwrap_err());
        assert!(refused.contains("HOMING_NOT_SET_ANYWHERE"), "{refused}");
    }
}
