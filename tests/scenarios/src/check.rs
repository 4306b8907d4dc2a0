//! What a scenario's steps must make of each other: a name is made before it is used, a gateway runs when it is asked.
//!
//! **Invariant:** a scenario that passes can only fail for what the gateway does.

use std::collections::{BTreeMap, BTreeSet};

use homing_domain::key::{KeySettings, SessionKey};
use homing_domain::origin::{AccountName, Origin};
use homing_gateway::Settings;

use crate::keys;
use crate::model::{Config, Expect, GatewayIs, PlatformIs, Scenario, Step, ToolOp, Wanted, Window};

/// What holds for a scenario as a whole.
#[derive(Debug, Clone)]
pub struct Plan {
    pub keys: KeySettings,
    /// Every account that a key names.
    pub accounts: BTreeSet<AccountName>,
    /// Where what has no address is told.
    pub home: Option<SessionKey>,
}

impl Plan {
    pub fn of(scenario: &Scenario) -> Plan {
        let config = match scenario.steps.first() {
            Some(Step::Config(config)) => config.apply(Settings::default()).ok(),
            Some(_) | None => None,
        };
        let home = config
            .as_ref()
            .and_then(|config| config.gateway.home.as_ref());
        let named: Vec<&SessionKey> = scenario
            .steps
            .iter()
            .flat_map(keys_of)
            .chain(home)
            .collect();
        let explicit = config.as_ref().map_or((None, None), |all| {
            (all.per_user_in_groups, all.per_user_in_threads)
        });
        Plan {
            keys: keys::settings(named.iter().copied(), explicit),
            accounts: named
                .iter()
                .map(|key| Origin::from_key(key).account_name())
                .collect(),
            home: home.cloned(),
        }
    }

    /// The accounts that a platform step means by `slack` or `slack@T1`.
    pub fn accounts_called<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a AccountName> {
        let (platform, account) = match name.split_once('@') {
            None => (name, None),
            Some((platform, account)) => (platform, Some(account)),
        };
        self.accounts.iter().filter(move |one| {
            one.platform == platform && (account.is_none() || one.account.as_deref() == account)
        })
    }
}

/// Every key that a step names.
pub fn keys_of(step: &Step) -> Vec<&SessionKey> {
    match step {
        Step::Message(step) => vec![&step.at],
        Step::Release(step) => vec![&step.at],
        Step::Command(step) => vec![&step.at],
        Step::Label(step) => vec![&step.at],
        Step::Spawn(step) => vec![&step.at],
        Step::Delegate(step) => vec![&step.at],
        Step::Tool(step) => vec![&step.at],
        Step::Compress(step) => vec![&step.at],
        Step::AutoReset(step) => vec![&step.at],
        Step::Window(Window::Open { at, .. }) => vec![at],
        Step::Platform(step) => match &step.is {
            PlatformIs::Gone(key) => vec![key],
            PlatformIs::Down | PlatformIs::Up | PlatformIs::Slow(_) => Vec::new(),
        },
        Step::Expect(expect) => {
            let turns = expect.turns.iter().flatten().map(|turn| &turn.at);
            let posts = expect.posts.iter().flatten().map(|post| &post.at);
            let answers = expect.answers.iter().flatten().map(|answers| &answers.at);
            let session = expect.session.iter().map(|session| &session.at);
            turns.chain(posts).chain(answers).chain(session).collect()
        }
        Step::Window(Window::Close { .. } | Window::Touch { .. })
        | Step::Output(_)
        | Step::Exit(_)
        | Step::Finish(_)
        | Step::Store(_)
        | Step::Gateway(_)
        | Step::Clock(_)
        | Step::Config(_) => Vec::new(),
    }
}

/// Everything that is wrong, with the number of its step.
pub fn check(scenario: &Scenario) -> Vec<(usize, String)> {
    let plan = Plan::of(scenario);
    let mut so_far = SoFar {
        plan: &plan,
        up: true,
        made: BTreeMap::new(),
        processes: BTreeSet::new(),
        delegations: BTreeSet::new(),
        windows: BTreeMap::new(),
        held: BTreeSet::new(),
        commanded: false,
    };
    let mut problems = Vec::new();
    for (index, step) in scenario.steps.iter().enumerate() {
        if let Err(problem) = so_far.see(index, step) {
            problems.push((index + 1, problem));
        }
    }
    problems
}

/// What the steps before have made.
struct SoFar<'a> {
    plan: &'a Plan,
    up: bool,
    /// What `${…}` may name, and what it is.
    made: BTreeMap<String, &'static str>,
    processes: BTreeSet<String>,
    delegations: BTreeSet<String>,
    /// Whether it is open.
    windows: BTreeMap<String, bool>,
    held: BTreeSet<SessionKey>,
    commanded: bool,
}

type Checked = Result<(), String>;

impl SoFar<'_> {
    fn see(&mut self, index: usize, step: &Step) -> Checked {
        match step {
            Step::Config(config) => return first(index, config),
            Step::Message(message) => {
                keys::origin(&message.at, message.user.as_deref(), self.plan.keys)?;
                if message.hold {
                    self.running("a turn is held")?;
                    self.held.insert(message.at.clone());
                }
                if message
                    .text
                    .as_ref()
                    .is_some_and(|text| text.trim().is_empty())
                {
                    return Err("a message has some text".into());
                }
            }
            Step::Release(release) => {
                if !self.held.contains(&release.at) {
                    return Err(format!("no message was held at {}", release.at));
                }
                self.running("a turn is released")?;
            }
            Step::Command(command) => {
                keys::origin(&command.at, command.user.as_deref(), self.plan.keys)?;
                if !command.text.starts_with('/') {
                    return Err("a command begins with `/`".into());
                }
                references(&command.text).try_for_each(|name| self.named(name?))?;
                self.commanded = true;
            }
            Step::Label(label) => {
                self.running("a session is labelled")?;
                self.make(&label.session, "session")?;
            }
            Step::Spawn(spawn) => {
                self.running("a process is spawned")?;
                self.window(spawn.window.as_deref())?;
                self.delegation(spawn.under.as_deref())?;
                self.make(&spawn.process, "process")?;
                self.processes.insert(spawn.process.clone());
            }
            Step::Output(output) => self.process(&output.process)?,
            Step::Exit(exit) => self.process(&exit.process)?,
            Step::Delegate(delegate) => {
                self.running("a sub-agent is started")?;
                self.window(delegate.window.as_deref())?;
                self.delegation(delegate.under.as_deref())?;
                self.make(&delegate.delegation, "delegation")?;
                self.delegations.insert(delegate.delegation.clone());
            }
            Step::Finish(finish) => self.delegation(Some(&finish.delegation))?,
            Step::Tool(tool) => {
                self.running("a tool is called")?;
                match (&tool.process, tool.op) {
                    (Some(process), _) => self.process(process)?,
                    (None, ToolOp::List) => {}
                    (None, ToolOp::Wait | ToolOp::Log | ToolOp::Poll | ToolOp::Kill) => {
                        return Err("this tool needs a `process`".into());
                    }
                }
            }
            Step::Compress(_) => self.running("a conversation is compressed")?,
            Step::AutoReset(_) => self.running("a reset comes due")?,
            Step::Window(window) => self.see_window(window)?,
            Step::Platform(platform) => self.see_platform(&platform.name, &platform.is)?,
            Step::Gateway(gateway) => self.see_gateway(gateway.is)?,
            Step::Store(_) | Step::Clock(_) => {}
            Step::Expect(expect) => self.see_expect(expect)?,
        }
        Ok(())
    }

    fn see_window(&mut self, window: &Window) -> Checked {
        self.running("a window is used")?;
        let open = |window: &String| self.windows.get(window).copied();
        match window {
            Window::Open { window, .. } if open(window) == Some(false) => {
                return Err(format!("window {window} was closed, which is for good"));
            }
            Window::Open { window, .. } => drop(self.windows.insert(window.clone(), true)),
            Window::Close { window } | Window::Touch { window } if open(window) != Some(true) => {
                return Err(format!("window {window} is not open"));
            }
            Window::Close { window } => drop(self.windows.insert(window.clone(), false)),
            Window::Touch { .. } => {}
        }
        Ok(())
    }

    fn see_platform(&self, name: &str, is: &PlatformIs) -> Checked {
        if self.plan.accounts_called(name).next().is_none() {
            return Err(format!("no key of this scenario is on `{name}`"));
        }
        match is {
            PlatformIs::Gone(key)
                if !self
                    .plan
                    .accounts_called(name)
                    .any(|account| *account == Origin::from_key(key).account_name()) =>
            {
                Err(format!("{key} is not on `{name}`"))
            }
            PlatformIs::Gone(_) | PlatformIs::Down | PlatformIs::Up | PlatformIs::Slow(_) => Ok(()),
        }
    }

    fn see_gateway(&mut self, is: GatewayIs) -> Checked {
        match (is, self.up) {
            (GatewayIs::Started, true) => return Err("the gateway is running".into()),
            (GatewayIs::Killed | GatewayIs::Stopped, false) => {
                return Err("the gateway is not running".into());
            }
            (GatewayIs::Started, false)
            | (GatewayIs::Killed | GatewayIs::Stopped, true)
            | (GatewayIs::Rebooted, _) => {}
        }
        self.up = is == GatewayIs::Started;
        if !self.up {
            self.held.clear();
        }
        Ok(())
    }

    fn see_expect(&self, expect: &Expect) -> Checked {
        for turn in expect.turns.iter().flatten() {
            turn.about.iter().try_for_each(|name| self.work(name))?;
            turn.session
                .iter()
                .try_for_each(|label| self.session(label))?;
        }
        for post in expect.posts.iter().flatten() {
            post.has
                .iter()
                .flat_map(|text| references(text))
                .try_for_each(|name| self.named(name?))?;
            if let Some(window) = post
                .window
                .as_ref()
                .filter(|window| !self.windows.contains_key(*window))
            {
                return Err(format!("there was no window {window}"));
            }
        }
        expect
            .states
            .iter()
            .flatten()
            .try_for_each(|(name, _)| self.work(name))?;
        expect
            .alive
            .iter()
            .flatten()
            .try_for_each(|name| self.process(name))?;
        if let Some(session) = &expect.session {
            let (Wanted::Is(label) | Wanted::IsNot(label)) = &session.wanted;
            label.iter().try_for_each(|label| self.session(label))?;
        }
        if let Some(reply) = &expect.reply {
            reply
                .has
                .iter()
                .flat_map(|text| references(text))
                .try_for_each(|name| self.named(name?))?;
            if !self.commanded {
                return Err("there was no command whose reply could be read".into());
            }
        }
        Ok(())
    }

    fn running(&self, what: &str) -> Checked {
        if self.up {
            Ok(())
        } else {
            Err(format!("{what} while the gateway is not running"))
        }
    }

    /// A session may be labelled again; other names are used once.
    fn make(&mut self, name: &str, kind: &'static str) -> Checked {
        if name.is_empty()
            || !name
                .chars()
                .all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'))
        {
            return Err(format!(
                "`{name}` is not a label; it takes letters, digits, `_`, `-` and `.`"
            ));
        }
        match self.made.insert(name.to_owned(), kind) {
            Some(before) if kind != "session" || before != "session" => {
                Err(format!("{name} names a {before} already"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Questions and processes have their numbers once people read of them.
    fn named(&self, name: &str) -> Checked {
        let is_number = |number: &str| number.parse::<usize>().is_ok_and(|number| number > 0);
        let is_seen = name.split_once(':').is_some_and(|(kind, number)| {
            matches!(kind, "approval" | "process") && is_number(number)
        });
        if is_seen || self.made.contains_key(name) {
            Ok(())
        } else {
            Err(format!("nothing is labelled `{name}` here"))
        }
    }
    fn session(&self, name: &str) -> Checked {
        if self.made.get(name) == Some(&"session") {
            Ok(())
        } else {
            Err(format!("no session is labelled `{name}` here"))
        }
    }
    fn process(&self, name: &str) -> Checked {
        if self.processes.contains(name) {
            Ok(())
        } else {
            Err(format!("no process {name} was spawned"))
        }
    }
    fn delegation(&self, name: Option<&str>) -> Checked {
        let unknown = name.filter(|name| !self.delegations.contains(*name));
        unknown.map_or(Ok(()), |name| {
            Err(format!("no delegation {name} was started"))
        })
    }
    fn work(&self, name: &str) -> Checked {
        self.process(name)
            .or_else(|_| self.delegation(Some(name)))
            .map_err(|_| format!("there is no process or delegation {name}"))
    }
    fn window(&self, name: Option<&str>) -> Checked {
        let closed = name.filter(|name| self.windows.get(*name) != Some(&true));
        closed.map_or(Ok(()), |name| Err(format!("window {name} is not open")))
    }
}

fn first(index: usize, _config: &Config) -> Checked {
    if index == 0 {
        Ok(())
    } else {
        Err("`config` must be the first step".into())
    }
}

/// The names in `${…}`.
pub fn references(text: &str) -> impl Iterator<Item = Result<&str, String>> {
    text.split("${").skip(1).map(|rest| {
        rest.split_once('}')
            .map(|(name, _)| name)
            .ok_or_else(|| "a `${` has no `}`".to_owned())
    })
}
