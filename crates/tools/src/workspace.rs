//! Files beneath one folder.
//!
//! **Invariant:** no path leads out, and none into the folder that is closed: the gateway's own. The kernel resolves it (`openat2` with `RESOLVE_BENEATH`): `..` and symbolic links may be used as long as they
//! stay inside, and what is opened is what was checked, whoever changes the folder meanwhile. Nothing but regular files is read or written.
//! **Absent on purpose:** protection from commands. What a shell runs is not held to the workspace.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A folder that everything stays in.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: OwnedFd,
    /// Where it really lies, without links.
    closed: Option<PathBuf>,
}

/// Why a file cannot be used; a sentence for whoever named it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileError {
    #[error("the path is empty; name a file relative to the workspace")]
    NoPath,
    #[error(
        "`{0}` leads out of the workspace; only files in it can be used, by paths relative to it"
    )]
    Outside(String),
    #[error(
        "`{0}` lies in the gateway's own data folder, which is not for tools: nothing there is read, changed or sent"
    )]
    Closed(String),
    #[error("there is no `{0}` in the workspace")]
    Missing(String),
    #[error("`{0}` is a folder")]
    Folder(String),
    #[error("`{0}` is no regular file")]
    Special(String),
    #[error("`{0}` is a symbolic link; name the file that it leads to")]
    Link(String),
    #[error(
        "`{path}` has {bytes} bytes, at most {most} can be used here; take a part of it with the tool `terminal`"
    )]
    TooLarge { path: String, bytes: u64, most: u64 },
    #[error("`{path}`: {why}")]
    Other { path: String, why: String },
}

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    // A pipe without a writer must not hold anybody up; it is refused right after.
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::DIRECTORY);

impl Workspace {
    /// All of `closed` is refused, by whatever name. A workspace that lies in there was put there on purpose, and is open.
    pub fn open(root: &Path, closed: Option<&Path>) -> Result<Self, FileError> {
        let here = |error: io::Error| other("the workspace", error);
        let real = root.canonicalize().map_err(here)?;
        let closed = closed
            .filter(|closed| closed == &real || !real.starts_with(closed))
            .map(Path::to_path_buf);
        let root = rustix::fs::openat(CWD, root, FOLDER, Mode::empty())
            .map_err(|error| here(error.into()))?;
        Ok(Self { root, closed })
    }

    /// A regular file, to read.
    pub fn file(&self, path: &str) -> Result<File, FileError> {
        let file = File::from(self.resolve(path, READ)?);
        let kind = file
            .metadata()
            .map_err(|error| other(path, error))?
            .file_type();
        match () {
            () if kind.is_dir() => Err(FileError::Folder(path.to_owned())),
            () if kind.is_file() => Ok(file),
            () => Err(FileError::Special(path.to_owned())),
        }
    }

    /// All of a file, if it has at most `most` bytes.
    pub fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, FileError> {
        let file = self.file(path)?;
        let bytes = file.metadata().map_err(|error| other(path, error))?.len();
        let too_large = |bytes| FileError::TooLarge {
            path: path.to_owned(),
            bytes,
            most,
        };
        if bytes > most {
            return Err(too_large(bytes));
        }
        let mut read = Vec::new();
        // It may grow while it is read.
        file.take(most + 1)
            .read_to_end(&mut read)
            .map_err(|error| other(path, error))?;
        match read.len() as u64 > most {
            true => Err(too_large(read.len() as u64)),
            false => Ok(read),
        }
    }

    /// Puts a whole file in place of the old one: whoever reads meanwhile sees one or the other. Its folder must be there.
    pub fn replace(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        let (folder, name) = split(path)?;
        let folder = match folder {
            Some(folder) => self.resolve(folder, FOLDER)?,
            None => self.resolve(".", FOLDER)?,
        };
        let mode = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Mode::from_raw_mode(stat.st_mode & 0o777),
                FileType::Directory => return Err(FileError::Folder(path.to_owned())),
                FileType::Symlink => return Err(FileError::Link(path.to_owned())),
                _ => return Err(FileError::Special(path.to_owned())),
            },
            Err(Errno::NOENT) => Mode::from_raw_mode(0o644),
            Err(error) => return Err(refused(path, error)),
        };
        let (file, temporary) = temporary(&folder, mode).map_err(|error| other(path, error))?;
        let written = write_all(file, bytes, mode)
            .and_then(|()| Ok(rustix::fs::renameat(&folder, &temporary, &folder, name)?));
        if let Err(error) = written {
            // Left behind it would only be clutter.
            let _gone = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
            return Err(other(path, error));
        }
        Ok(())
    }

    /// The folders that lead to a file, made where they are missing.
    pub fn make_folders(&self, path: &str) -> Result<(), FileError> {
        let (Some(folder), _) = split(path)? else {
            return Ok(());
        };
        let mut made = PathBuf::new();
        for part in folder.components() {
            let (above, name) = match part {
                Component::Normal(name) => (made.clone(), name.to_owned()),
                Component::CurDir => continue,
                // Where it leads is for the kernel to say, when the file is opened.
                Component::ParentDir => {
                    made.push("..");
                    continue;
                }
                Component::RootDir | Component::Prefix(_) => {
                    return Err(FileError::Outside(path.to_owned()));
                }
            };
            made.push(&name);
            match self.resolve(&made, FOLDER) {
                Ok(_there) => {}
                Err(FileError::Missing(_)) => {
                    let above = match above.as_os_str().is_empty() {
                        true => self.resolve(".", FOLDER)?,
                        false => self.resolve(&above, FOLDER)?,
                    };
                    match rustix::fs::mkdirat(&above, &name, Mode::from_raw_mode(0o755)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(refused(path, error)),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub fn folder(&self, path: &str) -> Result<OwnedFd, FileError> {
        self.resolve(path, FOLDER)
    }

    fn resolve(&self, path: impl AsRef<Path>, flags: OFlags) -> Result<OwnedFd, FileError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        if shown.trim().is_empty() {
            return Err(FileError::NoPath);
        }
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..4 {
            match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), how) {
                // Something was renamed while the kernel looked; it could not be sure.
                Err(Errno::AGAIN) => {}
                Err(error) => return Err(refused(&shown, error)),
                Ok(opened) if self.is_closed(&opened)? => return Err(FileError::Closed(shown)),
                Ok(opened) => return Ok(opened),
            }
        }
        Err(refused(&shown, Errno::AGAIN))
    }

    /// Whether it lies in the folder that is closed. Asked of what was opened: a name may be a link, or mean something else by now.
    pub fn is_closed(&self, opened: &impl AsRawFd) -> Result<bool, FileError> {
        let Some(closed) = &self.closed else {
            return Ok(false);
        };
        let name = format!("/proc/self/fd/{}", opened.as_raw_fd());
        match std::fs::read_link(&name) {
            Ok(real) => Ok(real.starts_with(closed)),
            Err(error) => Err(other(&name, error)),
        }
    }
}

/// The folder of a file, if one is named, and its name in there.
fn split(path: &str) -> Result<(Option<&Path>, &OsStr), FileError> {
    if path.trim().is_empty() {
        return Err(FileError::NoPath);
    }
    let whole = Path::new(path);
    if whole.is_absolute() {
        return Err(FileError::Outside(path.to_owned()));
    }
    let name = whole
        .file_name()
        .filter(|_| !path.ends_with('/'))
        .ok_or_else(|| FileError::Folder(path.to_owned()))?;
    let folder = whole
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Ok((folder, name))
}

fn temporary(folder: &OwnedFd, mode: Mode) -> io::Result<(File, String)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    for number in 0..100 {
        let name = format!(".homing-{}-{number}.part", std::process::id());
        match rustix::fs::openat(folder, &name, flags, mode) {
            Ok(file) => return Ok((File::from(file), name)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other(
        "unfinished files are in the way: remove .homing-*.part",
    ))
}

fn write_all(mut file: File, bytes: &[u8], mode: Mode) -> io::Result<()> {
    file.write_all(bytes)?;
    // The process's mask has no say in the mode of a file that was there.
    rustix::fs::fchmod(&file, mode)?;
    file.sync_all()
}

fn refused(path: &str, error: Errno) -> FileError {
    let path = path.to_owned();
    match error {
        Errno::XDEV => FileError::Outside(path),
        Errno::NOENT => FileError::Missing(path),
        Errno::ISDIR => FileError::Folder(path),
        Errno::LOOP => FileError::Link(path),
        Errno::NXIO => FileError::Special(path),
        error => other(&path, error.into()),
    }
}

fn other(path: &str, error: io::Error) -> FileError {
    FileError::Other {
        path: path.to_owned(),
        why: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::os::unix::fs::symlink;

    struct Stage {
        folder: tempfile::TempDir,
        workspace: Workspace,
    }

    /// A workspace with a neighbour that must not be reached.
    fn stage() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("sub/a"), "inside").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink(folder.path(), root.join("up")).unwrap();
        symlink("sub/a", root.join("in")).unwrap();
        Stage {
            workspace: Workspace::open(&root, None).unwrap(),
            folder,
        }
    }

    #[test]
    fn no_path_leads_out() {
        let stage = stage();
        let absolute = stage.folder.path().join("secret").display().to_string();
        for path in [
            "../secret",
            "out",
            "up/secret",
            "sub/../../secret",
            "/etc/passwd",
            &absolute,
            "up/work/sub/a",
        ] {
            assert!(
                matches!(stage.workspace.read(path, 100), Err(FileError::Outside(_))),
                "read {path}"
            );
        }
        for path in ["../new", "up/new", "/tmp/new", "sub/../../new"] {
            let written = stage
                .workspace
                .make_folders(path)
                .and_then(|()| stage.workspace.replace(path, b"x"));
            assert!(
                matches!(written, Err(FileError::Outside(_))),
                "{path}: {written:?}"
            );
        }
        assert_eq!(
            stage.workspace.make_folders("up/made/new"),
            Err(FileError::Outside("up".into()))
        );
        // A link is not written through, and not replaced.
        assert!(matches!(
            stage.workspace.replace("out", b"x"),
            Err(FileError::Link(_))
        ));
        assert_eq!(
            std::fs::read(stage.folder.path().join("secret")).unwrap(),
            b"secret"
        );
        assert_eq!(std::fs::read_dir(stage.folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_closed_is_refused_by_whatever_name() {
        let stage = stage();
        let root = stage.folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir_all(root.join("data/run")).unwrap();
        std::fs::write(root.join("data/homing.db"), "rows").unwrap();
        std::fs::write(root.join("data/run/log"), "output").unwrap();
        std::fs::create_dir(root.join("database")).unwrap();
        symlink("data", root.join("folder-link")).unwrap();
        symlink("data/homing.db", root.join("file-link")).unwrap();
        let workspace = Workspace::open(&root, Some(&root.join("data"))).unwrap();
        let closed = |answer: Result<(), FileError>| matches!(answer, Err(FileError::Closed(_)));
        for path in [
            "data/homing.db",
            "./sub/../data/homing.db",
            "data/run/log",
            "folder-link/homing.db",
            "file-link",
        ] {
            assert!(closed(workspace.read(path, 100).map(drop)), "read {path}");
        }
        for path in [
            "data/homing.db",
            "data/new",
            "data/made/new",
            "folder-link/run/made/new",
        ] {
            let made = workspace.make_folders(path);
            assert!(
                closed(made.and_then(|()| workspace.replace(path, b"x"))),
                "{path}"
            );
            assert!(
                closed(workspace.replace(path, b"x")) || path.contains("made"),
                "{path}"
            );
        }
        for path in ["data", "data/run", "folder-link"] {
            assert!(closed(workspace.folder(path).map(drop)), "{path}");
        }
        assert_eq!(std::fs::read(root.join("data/homing.db")).unwrap(), b"rows");
        assert_eq!(std::fs::read_dir(root.join("data")).unwrap().count(), 2);
        // What only begins like it is open, and so is a workspace that was put in there.
        workspace.replace("database/a", b"x").unwrap();
        let inner = Workspace::open(&root.join("data/run"), Some(&root.join("data"))).unwrap();
        assert_eq!(inner.read("log", 100).unwrap(), b"output");
        let same = Workspace::open(&root.join("data"), Some(&root.join("data"))).unwrap();
        assert!(closed(same.read("homing.db", 100).map(drop)));
    }

    #[test]
    fn what_stays_inside_is_read_however_it_is_named() {
        let stage = stage();
        for path in ["sub/a", "in", "sub/../sub/a", "./sub/a"] {
            assert_eq!(
                stage.workspace.read(path, 100).unwrap(),
                b"inside",
                "{path}"
            );
        }
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let stage = stage();
        let path = stage.folder.path().join("work/sub/a");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        stage.workspace.replace("sub/a", b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        stage.workspace.make_folders("x/y/z").unwrap();
        stage.workspace.replace("x/y/z", b"deep").unwrap();
        assert_eq!(stage.workspace.read("x/y/z", 10).unwrap(), b"deep");
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1
        );
    }

    #[test]
    fn what_is_no_file_or_too_large_is_refused() {
        let stage = stage();
        let pipe = stage.folder.path().join("work/pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert_eq!(
            stage.workspace.read("pipe", 10),
            Err(FileError::Special("pipe".into()))
        );
        assert_eq!(
            stage.workspace.replace("pipe", b"x"),
            Err(FileError::Special("pipe".into()))
        );
        assert_eq!(
            stage.workspace.read("sub", 10),
            Err(FileError::Folder("sub".into()))
        );
        assert_eq!(
            stage.workspace.read("none", 10),
            Err(FileError::Missing("none".into()))
        );
        assert_eq!(stage.workspace.read("", 10), Err(FileError::NoPath));
        assert!(matches!(
            stage.workspace.read("sub/a", 5),
            Err(FileError::TooLarge { bytes: 6, .. })
        ));
    }
}
