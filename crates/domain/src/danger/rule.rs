//! The kinds of danger, and their names.

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $name:literal,)+) => {
        /// Why somebody is asked. The names are stable: they are stored, and written in settings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[$doc])* $rule,)+
        }

        impl Rule {
            pub const ALL: &[Rule] = &[$(Rule::$rule),+];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Rule::$rule => $name,)+
                }
            }

            pub fn named(name: &str) -> Option<Rule> {
                Rule::ALL.iter().copied().find(|rule| rule.name() == name)
            }
        }
    };
}

rules! {
    /// Files go without a question, with folders, or without their names being known.
    RecursiveDelete = "recursive_delete",
    /// Disks, partitions and file systems.
    DiskWrite = "disk_write",
    /// Owners and modes, of many files or dangerous ones.
    Permissions = "permissions",
    /// Services, mounts, kernel, power.
    SystemState = "system_state",
    /// Processes ended by name or all at once.
    ProcessKill = "process_kill",
    /// Another user's rights, accounts and passwords.
    Privilege = "privilege",
    /// Software of the whole machine.
    Packages = "packages",
    /// Files of the system are changed.
    SystemFiles = "system_files",
    /// Files that a login reads or trusts are changed.
    LoginFiles = "login_files",
    /// What the network answers is executed, or the network gets a shell.
    RemoteCode = "remote_code",
    /// What is executed cannot be understood before it is.
    HiddenCode = "hidden_code",
    /// Commits, branches or changes in the working folder are lost.
    GitHistory = "git_history",
    /// Data in a database is lost.
    Database = "database",
    /// Containers, their data, or the machine through them.
    Containers = "containers",
    /// Resources at a provider or in a cluster.
    Cloud = "cloud",
    /// A fork bomb.
    Exhaustion = "exhaustion",
    /// Histories and logs are removed.
    Traces = "traces",
    /// The firewall and the network's settings.
    Firewall = "firewall",
    /// A protection is switched off.
    SecurityOff = "security_off",
    /// Keys and passwords are read.
    SecretRead = "secret_read",
    /// Keys and passwords leave the machine.
    SecretSent = "secret_sent",
    /// Something is arranged to run later, or at every start.
    Persistence = "persistence",
    /// The gateway itself, or its data.
    HomingItself = "homing_itself",
}
