//! Who may look: a token that works once turns into a cookie that lasts.
//!
//! **Invariant:** neither tokens nor session cookies are kept, only their SHA-256; the file of sessions is 0600 and replaced whole. A
//! token is taken out before anything else happens with it, so it can never work twice, not even at the same moment.
//! **Absent on purpose:** passwords and accounts. On loopback, whoever can read the gateway's terminal is the operator.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_domain::time::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// How long a login lasts. Browsers forget a cookie after 400 days at the latest.
pub(crate) const LASTS: Duration = Duration::from_secs(90 * 86_400);
/// Unused links that work at the same time.
const TOKENS: usize = 16;
/// Logins kept; the oldest is forgotten first.
const SESSIONS: usize = 64;
/// More than [`SESSIONS`] lines never are this long.
const FILE_LIMIT: u64 = 64 * 1024;

/// The operator's logins. Does not print what it holds.
pub struct Login {
    file: PathBuf,
    inner: Mutex<Inner>,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Inner {
    tokens: Vec<Hash>,
    sessions: Vec<Session>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Hash([u8; 32]);

#[derive(Clone, Copy)]
struct Session {
    hash: Hash,
    since: Timestamp,
}

/// What became of a token.
#[must_use]
pub(crate) enum Redeemed {
    /// The value of the new cookie.
    In(String),
    /// Used before, from an earlier start, or never ours. Which of these is not told.
    Refused,
}

impl Login {
    /// Reads the logins that outlived the last gateway. A file that is not there yet is an empty one; lines that do not read are skipped.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Login> {
        let file = path.as_ref().to_path_buf();
        let sessions = match File::open(&file) {
            Ok(opened) => read_sessions(opened)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Login {
            file,
            inner: Mutex::new(Inner {
                tokens: Vec::new(),
                sessions,
            }),
        })
    }

    /// A fresh one-time token.
    pub(crate) fn issue(&self) -> io::Result<String> {
        let token = secret()?;
        let mut inner = self.lock();
        let excess = (inner.tokens.len() + 1).saturating_sub(TOKENS);
        inner.tokens.drain(..excess);
        inner.tokens.push(Hash::of(&token));
        Ok(token)
    }

    /// Uses a token up.
    pub(crate) fn redeem(&self, token: &str, now: Timestamp) -> io::Result<Redeemed> {
        let wanted = Hash::of(token);
        let mut inner = self.lock();
        let Some(place) = inner.tokens.iter().position(|known| known.matches(&wanted)) else {
            return Ok(Redeemed::Refused);
        };
        inner.tokens.remove(place);
        let cookie = secret()?;
        inner.sessions.retain(|session| session.lives(now));
        let excess = (inner.sessions.len() + 1).saturating_sub(SESSIONS);
        inner.sessions.drain(..excess);
        inner.sessions.push(Session {
            hash: Hash::of(&cookie),
            since: now,
        });
        self.write(&inner.sessions)?;
        Ok(Redeemed::In(cookie))
    }

    pub(crate) fn knows(&self, cookie: &str, now: Timestamp) -> bool {
        let wanted = Hash::of(cookie);
        self.lock()
            .sessions
            .iter()
            .any(|session| session.lives(now) && session.hash.matches(&wanted))
    }

    /// The cookie stops working here and everywhere.
    pub(crate) fn forget(&self, cookie: &str) -> io::Result<()> {
        let unwanted = Hash::of(cookie);
        let mut inner = self.lock();
        inner
            .sessions
            .retain(|session| !session.hash.matches(&unwanted));
        self.write(&inner.sessions)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, sessions: &[Session]) -> io::Result<()> {
        let text: String = sessions
            .iter()
            .map(|session| format!("{} {}\n", session.hash.hex(), session.since.millis()))
            .collect();
        let fresh = self.file.with_extension("new");
        // One that a crash left behind may have other permissions; `mode` only counts for a file that is made.
        let _ = fs::remove_file(&fresh);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, &self.file)
    }
}

impl Session {
    fn lives(&self, now: Timestamp) -> bool {
        now.since(self.since) < LASTS
    }
}

impl Hash {
    fn of(secret: &str) -> Hash {
        Hash(Sha256::digest(secret.as_bytes()).into())
    }
    fn matches(&self, other: &Hash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
    fn hex(&self) -> String {
        hex(&self.0)
    }
    fn parse(text: &str) -> Option<Hash> {
        let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
        let mut hash = [0; 32];
        if text.len() != 64 {
            return None;
        }
        for (slot, pair) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *slot = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Hash(hash))
    }
}

fn read_sessions(file: File) -> io::Result<Vec<Session>> {
    let mut bytes = Vec::new();
    file.take(FILE_LIMIT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes)
        .lines()
        .filter_map(read_session)
        .collect())
}

fn read_session(line: &str) -> Option<Session> {
    let (hash, since) = line.split_once(' ')?;
    Some(Session {
        hash: Hash::parse(hash)?,
        since: Timestamp(since.trim().parse().ok()?),
    })
}

/// 256 random bits as text for a link or a cookie. Without the system's randomness there is none: anything else could be guessed.
fn secret() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| io::Error::other(format!("the system gives no randomness: {error}")))?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn cookie(login: &Login) -> String {
        match login.redeem(&login.issue().unwrap(), NOW).unwrap() {
            Redeemed::In(cookie) => cookie,
            Redeemed::Refused => panic!("a fresh token was refused"),
        }
    }

    #[test]
    fn a_token_works_once_and_a_wrong_one_never() {
        let folder = tempfile::tempdir().unwrap();
        let login = Login::open(folder.path().join("console-sessions")).unwrap();
        let token = login.issue().unwrap();
        assert!(matches!(
            login.redeem(&token, NOW).unwrap(),
            Redeemed::In(_)
        ));
        assert!(matches!(
            login.redeem(&token, NOW).unwrap(),
            Redeemed::Refused
        ));
        assert!(matches!(login.redeem("", NOW).unwrap(), Redeemed::Refused));
    }

    #[test]
    fn a_login_outlives_the_gateway_and_its_file_holds_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("console-sessions");
        let cookie = cookie(&Login::open(&path).unwrap());
        let again = Login::open(&path).unwrap();
        assert!(again.knows(&cookie, NOW));
        assert!(
            !again.knows(&cookie, NOW.plus(LASTS)),
            "it does not last for ever"
        );
        assert!(!fs::read_to_string(&path).unwrap().contains(&cookie));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        again.forget(&cookie).unwrap();
        assert!(!Login::open(&path).unwrap().knows(&cookie, NOW));
    }

    #[test]
    fn a_damaged_file_costs_logins_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("console-sessions");
        let cookie = cookie(&Login::open(&path).unwrap());
        let good = fs::read_to_string(&path).unwrap();
        fs::write(
            &path,
            [
                b"\nnonsense\nzz 1\n\xff\xfe\n",
                good.as_bytes(),
                "é".repeat(40).as_bytes(),
            ]
            .concat(),
        )
        .unwrap();
        assert!(Login::open(&path).unwrap().knows(&cookie, NOW));
    }

    #[test]
    fn unused_links_do_not_pile_up() {
        let folder = tempfile::tempdir().unwrap();
        let login = Login::open(folder.path().join("console-sessions")).unwrap();
        let first = login.issue().unwrap();
        (0..TOKENS).for_each(|_| drop(login.issue().unwrap()));
        assert!(matches!(
            login.redeem(&first, NOW).unwrap(),
            Redeemed::Refused
        ));
    }
}
