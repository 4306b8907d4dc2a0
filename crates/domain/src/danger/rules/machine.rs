//! The machine: power, services, processes, accounts, packages, firewall, what runs later.

use super::super::Rule;
use super::super::call::{Call, Findings};

const PRIVILEGE: &[&str] = &[
    "sudo",
    "sudoedit",
    "su",
    "doas",
    "pkexec",
    "run0",
    "visudo",
    "vipw",
    "vigr",
    "passwd",
    "chpasswd",
    "useradd",
    "userdel",
    "usermod",
    "adduser",
    "deluser",
    "addgroup",
    "delgroup",
    "groupadd",
    "groupdel",
    "groupmod",
    "gpasswd",
    "newgrp",
    "chsh",
    "chfn",
    "runuser",
    "nsenter",
    "chroot",
    "dscl",
    "sysadminctl",
];
const POWER: &[&str] = &[
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "telinit",
    "kexec",
    "pm-suspend",
    "pm-hibernate",
];
const KERNEL: &[&str] = &[
    "modprobe",
    "rmmod",
    "insmod",
    "depmod",
    "swapoff",
    "swapon",
    "umount",
    "losetup",
    "pivot_root",
    "update-grub",
    "grub-install",
    "efibootmgr",
    "update-initramfs",
    "hwclock",
    "fusermount",
    "ldconfig",
];

pub fn judge(call: &Call<'_>, findings: &mut Findings) {
    power_and_kernel(call, findings);
    services(call, findings);
    processes(call, findings);
    packages(call, findings);
    network(call, findings);
    later(call, findings);
    protection(call, findings);
    traces(call, findings);
    findings.add_if(
        PRIVILEGE.contains(&call.name),
        Rule::Privilege,
        "Acts with another user's rights, or changes accounts.",
    );
}

fn power_and_kernel(call: &Call<'_>, findings: &mut Findings) {
    let name = call.name;
    let off = POWER.contains(&name)
        || name == "init"
            && matches!(
                call.first(),
                "0" | "1" | "2" | "3" | "4" | "5" | "6" | "q" | "u"
            );
    findings.add_if(off, Rule::SystemState, "Stops or restarts the machine.");
    let writes = |texts: &[&str]| call.has_any(texts);
    let changed = match name {
        "mount" => call.operands().next().is_some() || call.short('a') || call.long("bind"),
        "sysctl" => {
            writes(&["-w", "--write", "-p", "--system", "--load"])
                || call.texts().any(|text| text.contains('='))
        }
        "date" => writes(&["-s", "--set"]) || call.texts().any(|text| text.starts_with("--set=")),
        "hostnamectl" | "timedatectl" | "localectl" => call
            .texts()
            .any(|text| text.starts_with("set-") || text == "hostname"),
        "hostname" => call.operands().next().is_some(),
        "dmesg" => false,
        _ => KERNEL.contains(&name),
    };
    findings.add_if(
        changed,
        Rule::SystemState,
        "Changes mounts, swap, the clock or the kernel.",
    );
}

fn services(call: &Call<'_>, findings: &mut Findings) {
    const HARMLESS: &[&str] = &[
        "status",
        "show",
        "cat",
        "help",
        "is-active",
        "is-enabled",
        "is-failed",
        "is-system-running",
        "list-units",
        "list-unit-files",
        "list-timers",
        "list-dependencies",
        "list-jobs",
        "list-sockets",
        "get-default",
        "show-environment",
        "list",
    ];
    let verb = call.operand(0);
    match call.name {
        "systemctl" if matches!(verb, "enable" | "reenable" | "link" | "preset" | "edit") => {
            findings.add(Rule::Persistence, "Makes a service start with the machine.");
        }
        "systemctl" | "loginctl" | "machinectl"
            if !verb.is_empty()
                && !HARMLESS.contains(&verb)
                && !verb.starts_with("list")
                && !verb.ends_with("status") =>
        {
            findings.add(
                Rule::SystemState,
                "Starts, stops or changes services of the machine.",
            );
        }
        "service" | "rc-service" | "initctl" | "sv" | "supervisorctl" => {
            let acts = call.has_any(&[
                "stop",
                "start",
                "restart",
                "reload",
                "force-reload",
                "down",
                "kill",
                "shutdown",
                "remove",
            ]);
            findings.add_if(
                acts,
                Rule::SystemState,
                "Starts, stops or changes services of the machine.",
            );
        }
        "launchctl" => {
            let loads = call.has_any(&["load", "bootstrap", "enable", "submit"]);
            findings.add_if(
                loads,
                Rule::Persistence,
                "Makes a service start with the machine.",
            );
            findings.add_if(
                call.has_any(&["unload", "bootout", "disable", "remove", "kill", "stop"]),
                Rule::SystemState,
                "Stops a service.",
            );
        }
        _ => {}
    }
}

fn processes(call: &Call<'_>, findings: &mut Findings) {
    let homing = call
        .texts()
        .any(|text| text == "PPID" || text.to_ascii_lowercase().contains("homing"));
    let ends = matches!(
        call.name,
        "kill" | "pkill" | "killall" | "systemctl" | "service" | "skill" | "fuser" | "xkill"
    );
    if ends
        && homing
        && !matches!(
            call.operand(0),
            "status" | "show" | "is-active" | "list-units" | "cat"
        )
    {
        findings.add(Rule::HomingItself, "Ends or changes the gateway itself.");
    }
    // What they print is a number, of which nobody can tell any more whose it is: in `kill $(…)`, behind a pipe, in a variable.
    if homing && matches!(call.name, "pgrep" | "pidof") {
        findings.add(
            Rule::HomingItself,
            "Looks for the process of the gateway itself, as what ends it does.",
        );
    }
    match call.name {
        "kill" => kill(call, findings),
        "killall" | "killall5" | "slay" | "skill" if !call.has("-l") => {
            findings.add(
                Rule::ProcessKill,
                "Ends every process of a name, whoever started it.",
            );
        }
        "pkill" => {
            const VITAL: &[&str] = &[
                "sh",
                "bash",
                "ssh",
                "sshd",
                "init",
                "systemd",
                "login",
                "dockerd",
                "containerd",
            ];
            let patterns: Vec<&str> = call
                .operands()
                .map(|operand| operand.text.as_str())
                .collect();
            let broad = patterns.is_empty()
                || patterns.iter().any(|pattern| {
                    pattern
                        .chars()
                        .filter(|letter| letter.is_alphanumeric())
                        .count()
                        < 3
                        || VITAL.contains(pattern)
                        || pattern.contains(".*")
                })
                || call.long("inverse")
                || call.has("-v")
                || call.has_any(&["-u", "-U", "-g", "-s", "-t"]);
            findings.add_if(
                broad,
                Rule::ProcessKill,
                "Ends processes by a pattern that fits many.",
            );
        }
        "fuser" => findings.add_if(
            call.short('k') || call.long("kill"),
            Rule::ProcessKill,
            "Ends every process that uses a file.",
        ),
        _ => {}
    }
}

fn kill(call: &Call<'_>, findings: &mut Findings) {
    if call.first().starts_with("-l") || call.first() == "-L" {
        return;
    }
    let texts: Vec<&str> = call.texts().collect();
    let signal_given = texts
        .first()
        .is_some_and(|first| first.starts_with('-') && *first != "--");
    let mut targets = texts
        .iter()
        .skip(usize::from(signal_given))
        .skip(usize::from(matches!(texts.first(), Some(&"-s" | &"-n"))));
    let all = targets
        .clone()
        .any(|target| matches!(*target, "-1" | "0" | "1"))
        || texts.as_slice() == ["-1"];
    findings.add_if(
        all,
        Rule::ProcessKill,
        "Ends all processes, or the first of the machine.",
    );
    let unknown =
        targets.any(|target| target.starts_with('-') && target.contains(super::super::shell::HOLE));
    findings.add_if(
        unknown,
        Rule::ProcessKill,
        "Ends a group of processes that is only known when it runs.",
    );
}

fn packages(call: &Call<'_>, findings: &mut Findings) {
    const VERBS: &[&str] = &[
        "install",
        "reinstall",
        "remove",
        "purge",
        "autoremove",
        "autopurge",
        "upgrade",
        "dist-upgrade",
        "full-upgrade",
        "erase",
        "uninstall",
        "rm",
        "in",
        "add",
        "del",
        "downgrade",
        "update",
        "dup",
        "refresh",
        "distro-sync",
        "build-dep",
        "group",
        "groupinstall",
        "swap",
    ];
    let verb = call.operand(0);
    let global = call.short('g') || call.long("global") || call.has("--location=global");
    let changes = match call.name {
        "apt" | "apt-get" | "aptitude" | "dnf" | "yum" | "microdnf" | "zypper" | "apk" | "snap"
        | "flatpak" | "brew" | "port" | "pkg" | "xbps" | "emerge" | "nala" | "tdnf" => {
            VERBS.contains(&verb) || call.has_any(&["install", "remove", "purge"])
        }
        "pacman" | "yay" | "paru" => call.texts().any(|text| {
            text.starts_with("-S") && !text.starts_with("-Ss") && !text.starts_with("-Si")
                || text.starts_with("-R")
                || text.starts_with("-U")
        }),
        "dpkg" => call.texts().any(|text| {
            matches!(
                text,
                "-i" | "-r"
                    | "-P"
                    | "--install"
                    | "--remove"
                    | "--purge"
                    | "--configure"
                    | "--unpack"
            )
        }),
        "rpm" => call.texts().any(|text| {
            text.starts_with("-i")
                || text.starts_with("-U")
                || text.starts_with("-e")
                || text.starts_with("-F")
                || matches!(text, "--install" | "--erase" | "--upgrade")
        }),
        "pip" | "pip3" | "pipx" => {
            call.has_any(&["--break-system-packages", "--root"])
                || call.name.starts_with("pip")
                    && call.texts().any(|text| text.starts_with("--target=/usr"))
        }
        "python" | "python3" => call.has("pip") && call.has("--break-system-packages"),
        "npm" | "pnpm" => {
            global
                && call.has_any(&[
                    "install",
                    "i",
                    "add",
                    "uninstall",
                    "remove",
                    "rm",
                    "un",
                    "update",
                    "link",
                    "ci",
                ])
        }
        "yarn" => verb == "global",
        "update-alternatives"
        | "dpkg-divert"
        | "dpkg-reconfigure"
        | "apt-mark"
        | "add-apt-repository"
        | "apt-key" => true,
        _ => false,
    };
    findings.add_if(
        changes,
        Rule::Packages,
        "Installs, changes or removes software of the whole machine.",
    );
}

fn network(call: &Call<'_>, findings: &mut Findings) {
    let lists = call.arguments.is_empty()
        || call.texts().any(|text| {
            text.starts_with("-L")
                || text.starts_with("-S")
                || text.starts_with("--list")
                || matches!(
                    text,
                    "-nL" | "-vL" | "-nvL" | "-vnL" | "--version" | "--help"
                )
        });
    let verb = call.operand(0);
    let firewall = match call.name {
        "iptables" | "ip6tables" | "ebtables" | "arptables" | "ipset" => !lists && verb != "list",
        "iptables-restore" | "ip6tables-restore" => true,
        "nft" => !call.arguments.is_empty() && verb != "list",
        "ufw" => !matches!(verb, "" | "status" | "show" | "version"),
        "firewall-cmd" => call.texts().any(|text| {
            [
                "--add",
                "--remove",
                "--reload",
                "--panic",
                "--set",
                "--complete",
                "--permanent",
            ]
            .iter()
            .any(|start| text.starts_with(start))
        }),
        "pfctl" => call
            .texts()
            .any(|text| matches!(text, "-d" | "-e" | "-F" | "-f")),
        "ip" => call.has_any(&["set", "del", "delete", "flush", "add", "replace", "change"]),
        "ifconfig" => call.operands().count() > 1,
        "route" => call.has_any(&["add", "del", "delete", "flush"]),
        "nmcli" => call.has_any(&["down", "off", "delete", "modify", "disconnect"]),
        _ => false,
    };
    findings.add_if(
        firewall,
        Rule::Firewall,
        "Changes the firewall or the network's settings.",
    );
}

fn later(call: &Call<'_>, findings: &mut Findings) {
    let persists = match call.name {
        "crontab" => !call.has("-l"),
        "at" => !call.has_any(&["-l", "-V"]) && !call.arguments.is_empty(),
        "batch" | "atrm" | "update-rc.d" | "chkconfig" | "rc-update" => true,
        "systemd-run" => call
            .texts()
            .any(|text| text.starts_with("--on-") || text == "--scope"),
        "loginctl" => call.has("enable-linger"),
        _ => false,
    };
    findings.add_if(
        persists,
        Rule::Persistence,
        "Arranges that something runs later, or changes what does.",
    );
}

fn protection(call: &Call<'_>, findings: &mut Findings) {
    let off = match call.name {
        "setenforce" => !matches!(call.first(), "1" | "Enforcing" | "enforcing"),
        "aa-disable" | "aa-teardown" | "aa-complain" | "apparmor_parser" => true,
        "setsebool" | "semanage" => true,
        "auditctl" => call.has_any(&["-D", "-e"]),
        "spctl" => call.texts().any(|text| text.contains("disable")),
        "csrutil" => call.has("disable"),
        "fail2ban-client" => call.has_any(&["stop", "unban"]),
        _ => false,
    };
    findings.add_if(
        off,
        Rule::SecurityOff,
        "Switches off or weakens a protection.",
    );
}

fn traces(call: &Call<'_>, findings: &mut Findings) {
    let wipes = match call.name {
        "history" => call.short('c') || call.short('w') || call.short('d'),
        "unset" => call.has_any(&["HISTFILE", "HISTSIZE"]),
        "set" => call.texts().collect::<Vec<_>>() == ["+o", "history"],
        "journalctl" => call
            .texts()
            .any(|text| text.starts_with("--vacuum") || text == "--rotate" || text == "--flush"),
        "dmesg" => call.has_any(&["-C", "-c", "--clear", "--read-clear"]),
        "export" | "declare" | "typeset" => {
            for (name, value) in call.texts().filter_map(|text| text.split_once('=')) {
                super::assignment(name, &super::super::call::Argument::new(value), findings);
            }
            false
        }
        "wevtutil" => true,
        _ => false,
    };
    findings.add_if(
        wipes,
        Rule::Traces,
        "Removes logs or the history of commands.",
    );
}
