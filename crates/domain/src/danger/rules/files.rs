//! Files: removed, written, given to others; disks.

use super::super::call::{Argument, Call, Findings};
use super::super::paths::{self, Place};
use super::super::shell::HOLE;
use super::super::{Rule, paths::place};

pub fn judge(call: &Call<'_>, findings: &mut Findings) {
    match call.name {
        "rm" | "grm" | "unlink" | "srm" | "trash" => remove(call, findings),
        "rimraf" | "del-cli" => {
            findings.add(
                Rule::RecursiveDelete,
                "Deletes folders with all they hold, without asking.",
            );
            changes(call.operands(), call, findings);
        }
        "rmdir" => {
            findings.add_if(
                call.short('p') || call.long("parents"),
                Rule::RecursiveDelete,
                "Removes a folder and those around it.",
            );
            changes(call.operands(), call, findings);
        }
        "shred" | "wipe" => findings.add(
            Rule::RecursiveDelete,
            "Overwrites files so that they cannot be restored.",
        ),
        "find" | "gfind" => find(call, findings),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "chflags" | "setcap" => {
            permissions(call, findings)
        }
        "dd" | "dcfldd" => disk_copy(call, findings),
        _ => {
            disks(call, findings);
            written(call, findings);
        }
    }
}

fn remove(call: &Call<'_>, findings: &mut Findings) {
    let recursive = call.short('r') || call.short('R') || call.long("recursive");
    let forced = call.short('f') || call.long("force");
    match (recursive, forced) {
        (true, true) => findings.add(
            Rule::RecursiveDelete,
            "Deletes folders with all they hold, without asking.",
        ),
        (true, false) => findings.add(Rule::RecursiveDelete, "Deletes folders with all they hold."),
        (false, true) => findings.add(Rule::RecursiveDelete, "Deletes files without asking."),
        (false, false) => {}
    }
    let broad = |argument: &&Argument| {
        argument.glob
            && matches!(
                argument.text.rsplit('/').next(),
                Some("*" | ".*" | "?*" | "**")
            )
    };
    findings.add_if(
        call.operands().any(|operand| broad(&operand)),
        Rule::RecursiveDelete,
        "Deletes all files of a folder.",
    );
    let unknown = call.arguments.iter().any(|argument| !argument.is_exact());
    findings.add_if(
        unknown,
        Rule::RecursiveDelete,
        "Deletes files whose names are only known when it runs.",
    );
    changes(call.operands(), call, findings);
}

fn find(call: &Call<'_>, findings: &mut Findings) {
    findings.add_if(
        call.has("-delete"),
        Rule::RecursiveDelete,
        "Deletes every file that is found.",
    );
    for path in call.values(&["-fprint", "-fprintf", "-fls", "-fprint0"]) {
        write(&paths::normal(path, call.folder), findings);
    }
}

/// Each of these is written, moved or removed.
fn changes<'a>(
    arguments: impl Iterator<Item = &'a Argument>,
    call: &Call<'_>,
    findings: &mut Findings,
) {
    for argument in arguments {
        write(&paths::normal(&argument.text, call.folder), findings);
    }
}

/// A file that is written, moved or removed.
pub fn write(path: &str, findings: &mut Findings) {
    if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
        return findings.add(Rule::RemoteCode, "Connects a shell to the network.");
    }
    match place(path) {
        Place::Ordinary => {}
        Place::Device => findings.add(Rule::DiskWrite, "Writes to a disk or another device."),
        Place::Kernel => findings.add(Rule::SystemState, "Changes settings of the kernel."),
        Place::System => findings.add(Rule::SystemFiles, "Changes files of the system."),
        Place::Trace => findings.add(Rule::Traces, "Changes a log or a history of commands."),
        Place::Startup => findings.add(
            Rule::Persistence,
            "Changes what runs at a login, a start, or set times.",
        ),
        Place::Credential => findings.add(
            Rule::LoginFiles,
            "Changes keys, passwords, or who may log in.",
        ),
        Place::Homing => findings.add(
            Rule::HomingItself,
            "Changes the data of the gateway itself.",
        ),
        Place::Home => findings.add(Rule::SystemFiles, "Changes a home folder as a whole."),
    }
}

/// Programs that write to a file among their arguments.
fn written(call: &Call<'_>, findings: &mut Findings) {
    let targets: &[&str] = match call.name {
        "mv" | "gmv" => {
            changes(call.operands(), call, findings);
            &["-t", "--target-directory"]
        }
        "tee" | "touch" | "truncate" | "mkdir" | "patch" | "ed" | "mkfifo" | "mknod"
        | "fallocate" | "vim" | "vi" | "nano" => {
            return changes(call.operands(), call, findings);
        }
        "cp" | "gcp" | "ln" | "install" | "rsync" | "scp" | "gln" | "ditto" => {
            if call.operands().count() > 1 || call.name == "ln" {
                changes(call.operands().last().into_iter(), call, findings);
            }
            findings.add_if(
                call.name == "rsync"
                    && call
                        .texts()
                        .any(|text| text.starts_with("--del") || text == "--remove-source-files"),
                Rule::RecursiveDelete,
                "Deletes files that the other side does not have.",
            );
            findings.add_if(
                call.name == "install"
                    && call
                        .values(&["-m", "--mode"])
                        .into_iter()
                        .any(is_dangerous_mode),
                Rule::Permissions,
                "Gives a file to everybody, or its owner's rights to whoever runs it.",
            );
            match call.name {
                // There, `-t` keeps times.
                "rsync" | "scp" => &[],
                _ => &["-t", "--target-directory"],
            }
        }
        "sed" | "gsed" | "perl" | "ruby" | "awk" | "gawk" => {
            let in_place = call.texts().any(|text| {
                text.starts_with("--in-place")
                    || text.starts_with('-')
                        && !text.starts_with("--")
                        && text.len() < 8
                        && text.contains('i')
                    || text == "inplace"
            });
            if in_place {
                changes(call.operands(), call, findings);
            }
            return;
        }
        "curl" | "wget" | "sort" | "gcc" | "cc" | "go" | "openssl" => &[
            "-o",
            "-O",
            "--output",
            "--output-document",
            "-P",
            "--directory-prefix",
            "--output-dir",
            "-out",
        ],
        "tar" | "bsdtar" | "gtar"
            if call.texts().take(1).any(|text| text.contains('x'))
                || call.short('x')
                || call.long("extract") =>
        {
            &["-C", "--directory"]
        }
        "unzip" => &["-d"],
        "git" if call.has("clone") => return changes(call.operands().skip(2), call, findings),
        _ => return,
    };
    for path in call
        .values(targets)
        .into_iter()
        .chain(bundled_targets(call))
    {
        write(&paths::normal(path, call.folder), findings);
    }
}

/// Values of short options with a file that is written, also behind other letters.
fn bundled_targets<'a>(call: &Call<'a>) -> Vec<&'a str> {
    let (letters, valued) = match call.name {
        "curl" => ("o", "AbcCdDeEFhHKmoPQrtTuUwxXyYz"),
        "wget" => ("oaOP", "aABDeiIloOPQRtTUwX"),
        "sort" => ("o", "koStT"),
        "cp" | "gcp" | "mv" | "gmv" | "ln" | "gln" => ("t", "tS"),
        "install" => ("t", "gmotS"),
        "tar" | "bsdtar" | "gtar" => ("C", "fCbgKLNTVXIHF"),
        "unzip" => ("d", "dPx"),
        _ => return Vec::new(),
    };
    letters
        .chars()
        .flat_map(|letter| call.short_values(letter, valued))
        .collect()
}

fn permissions(call: &Call<'_>, findings: &mut Findings) {
    let recursive = call.short('R') || call.long("recursive");
    findings.add_if(
        recursive,
        Rule::Permissions,
        "Changes owners or rights of a folder with all it holds.",
    );
    let open = call.name == "chmod" && call.texts().any(is_dangerous_mode);
    findings.add_if(
        open,
        Rule::Permissions,
        "Gives files to everybody, or their owner's rights to whoever runs them.",
    );
    findings.add_if(
        call.name == "setcap",
        Rule::Permissions,
        "Gives a program rights of the administrator.",
    );
    let immutable = matches!(call.name, "chattr" | "chflags");
    findings.add_if(
        immutable,
        Rule::Permissions,
        "Changes attributes that protect files.",
    );
    for operand in call.operands().skip(1) {
        let place = call.place(&operand.text);
        // Closing one's own key is what a key needs.
        let closed = place == Place::Credential
            && matches!(
                call.operand(0),
                "600" | "700" | "400" | "0600" | "0700" | "go-rwx" | "go-rwx,u+rw"
            );
        findings.add_if(
            place != Place::Ordinary && !closed,
            Rule::Permissions,
            "Changes owners or rights of files that the system or a login depends on.",
        );
    }
}

/// Octal or symbolic: all may write, or the owner's rights go along.
fn is_dangerous_mode(mode: &str) -> bool {
    let octal = !mode.is_empty() && mode.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    if octal {
        let value = u32::from_str_radix(mode, 8).unwrap_or(u32::MAX);
        return value & 0o6002 != 0;
    }
    mode.split(',').any(|clause| {
        let Some(at) = clause.find(['+', '=']) else {
            return false;
        };
        let (who, rights) = clause.split_at(at);
        if !who.chars().all(|letter| "ugoa".contains(letter)) {
            return false;
        }
        rights.contains('s') || rights.contains('w') && (who.contains('o') || who.contains('a'))
    })
}

fn disk_copy(call: &Call<'_>, findings: &mut Findings) {
    for text in call.texts() {
        if let Some(path) = text.strip_prefix("of=") {
            write(&paths::normal(path, call.folder), findings);
            findings.add_if(
                path.starts_with(HOLE),
                Rule::DiskWrite,
                "Copies over something that is only known when it runs.",
            );
        }
    }
}

fn disks(call: &Call<'_>, findings: &mut Findings) {
    let name = call.name;
    let lists = call.has_any(&[
        "-l",
        "--list",
        "-v",
        "-V",
        "--version",
        "--help",
        "print",
        "-p",
    ]);
    let dangerous = match name {
        "wipefs" | "mkswap" | "blkdiscard" | "hdparm" | "nvme" | "cfdisk" | "newfs" | "mke2fs"
        | "tune2fs" | "resize2fs" | "pvremove" | "lvremove" | "vgremove" | "pvcreate"
        | "lvreduce" | "lvresize" | "e2fsck" | "xfs_repair" => true,
        "fdisk" | "sfdisk" | "gdisk" | "sgdisk" | "parted" => !lists && !call.arguments.is_empty(),
        "cryptsetup" => call
            .texts()
            .any(|text| text.starts_with("luks") || matches!(text, "erase" | "close")),
        "zpool" | "zfs" => call.has_any(&["destroy", "create", "labelclear", "rollback"]),
        "btrfs" => call.has_any(&["delete", "format"]),
        "mdadm" => call.texts().any(|text| {
            matches!(
                text,
                "--stop" | "--create" | "--zero-superblock" | "--fail" | "--remove"
            )
        }),
        "badblocks" => call.short('w'),
        "diskutil" => call
            .texts()
            .any(|text| text.to_ascii_lowercase().contains("erase") || text == "partitionDisk"),
        _ => name.starts_with("mkfs"),
    };
    findings.add_if(
        dangerous,
        Rule::DiskWrite,
        "Changes disks, partitions or file systems.",
    );
}
