//! Tokens: derived from one secret of the data folder, so nothing has to be stored for each process and a restart changes none.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use hmac::{Hmac, Mac};
use homing_domain::ids::ProcessId;
use homing_gateway::ControlAccess;
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::data;

const FILE: &str = "control.secret";
const LENGTH: usize = 32;
/// What the operator's token is derived from. No process id looks like it.
const OPERATOR: &str = "operator";

/// Does not print.
#[derive(Clone)]
pub struct Secret([u8; LENGTH]);

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bearer {
    Operator,
    Process(ProcessId),
}

impl Secret {
    /// Reads the folder's secret, making it (0600) if there is none.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        match Self::read(folder)? {
            Some(secret) => Ok(secret),
            None => Self::create(folder),
        }
    }

    /// `None` if no gateway has run here.
    pub fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(FILE);
        let mut bytes = Vec::new();
        match fs::File::open(&path) {
            Ok(file) => file
                .take(LENGTH as u64 + 1)
                .read_to_end(&mut bytes)
                .with_context(|| format!("reading {}", path.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("opening {}", path.display())),
        };
        match bytes.try_into() {
            Ok(secret) => Ok(Some(Self(secret))),
            Err(_) => bail!(
                "{} does not hold {LENGTH} bytes; delete it and start the gateway again, which makes a new one",
                path.display()
            ),
        }
    }

    fn create(folder: &Path) -> anyhow::Result<Self> {
        let mut secret = [0; LENGTH];
        getrandom::fill(&mut secret).context("asking the system for random bytes")?;
        let (path, unfinished) = (folder.join(FILE), folder.join(format!("{FILE}.new")));
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&unfinished)
            .with_context(|| format!("making {}", unfinished.display()))?;
        file.write_all(&secret)?;
        file.sync_all()?;
        fs::rename(&unfinished, &path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self(secret))
    }

    pub fn operator(&self) -> String {
        self.derive(OPERATOR)
    }

    /// `PROCESS.SIGNATURE`
    pub fn of(&self, process: ProcessId) -> String {
        format!("{process}.{}", self.derive(&process.to_string()))
    }

    /// What children are given.
    pub fn access(&self, folder: &Path) -> ControlAccess {
        let secret = self.clone();
        ControlAccess {
            socket: data::control_path(folder),
            token: Arc::new(move |process| secret.of(process)),
        }
    }

    /// Who a token belongs to; compared in constant time.
    pub fn bearer(&self, token: &str) -> Option<Bearer> {
        let same = |ours: &str, theirs: &str| bool::from(ours.as_bytes().ct_eq(theirs.as_bytes()));
        match token.split_once('.') {
            None => same(&self.operator(), token).then_some(Bearer::Operator),
            Some((process, signature)) => {
                let process: ProcessId = process.parse().ok()?;
                same(&self.derive(&process.to_string()), signature)
                    .then_some(Bearer::Process(process))
            }
        }
    }

    fn derive(&self, name: &str) -> String {
        // A key of any length is fine for HMAC, so this cannot fail; an empty token would match nothing.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(name.as_bytes());
        mac.finalize()
            .into_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    // OWN-22
    #[test]
    fn a_token_is_valid_for_its_own_process_only() {
        let folder = tempfile::tempdir().unwrap();
        let secret = Secret::open(folder.path()).unwrap();
        let (mine, other) = (ProcessId::from_number(7), ProcessId::from_number(8));
        let token = secret.of(mine);
        assert_eq!(secret.bearer(&token), Some(Bearer::Process(mine)));
        let forged = token.replace(&mine.to_string(), &other.to_string());
        assert_eq!(secret.bearer(&forged), None);
        assert_eq!(secret.bearer(""), None);
        assert_eq!(secret.bearer("."), None);
        assert_eq!(secret.bearer(&secret.operator()), Some(Bearer::Operator));
        // A restart changes nothing; another folder's secret is another one.
        assert_eq!(
            Secret::open(folder.path()).unwrap().bearer(&token),
            Some(Bearer::Process(mine))
        );
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(Secret::open(elsewhere.path()).unwrap().bearer(&token), None);
    }
}
