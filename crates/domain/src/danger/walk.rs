//! Goes through all commands of a text, and through the commands in their words.
//!
//! **Invariant:** what is executed in any branch is looked at as if it were executed. Depth and work are bounded; where a bound ends the walk, that is a danger.

mod aliases;
mod readings;

pub(super) use readings::ShellState;

use super::call::{Argument, Call, Findings, Flow};
use super::expand::{Value, Variables};
use super::input::Reads;
use super::shell::{
    self, Assignment, Command, Dialect, Group, Pipeline, Redirect, RedirectKind, Script, Simple,
    Trouble, Word,
};
use super::wrappers::{self, Inner};
use super::{Danger, MOST, Rule, paths, rules};
use aliases::Aliases;

const DEEPEST: usize = shell::DEEPEST;
/// Bytes of the longest folder that is followed. Linux knows no longer path.
const LONGEST_FOLDER: usize = 4096;

#[derive(Debug)]
pub(super) struct Walk {
    found: Vec<Danger>,
    pub variables: Variables,
    pub spent: usize,
    depth: usize,
    dialect: Dialect,
    /// Another shell might read another command somewhere.
    forked: bool,
    /// This shell would not read all of it.
    refused: bool,
    /// Where relative paths begin, after a `cd`.
    folder: Option<String>,
    aliases: Aliases,
    /// The here-documents of the script that is walked.
    bodies: std::rc::Rc<Vec<Word>>,
    /// What takes the standard input for what, and the folder that it does so in.
    reads: Vec<(Reads, Option<String>)>,
}

impl Walk {
    fn new(variables: Variables, dialect: Dialect) -> Walk {
        Walk {
            found: Vec::new(),
            variables,
            spent: 0,
            depth: 0,
            dialect,
            forked: false,
            refused: false,
            folder: None,
            aliases: Aliases::default(),
            bodies: std::rc::Rc::default(),
            reads: Vec::new(),
        }
    }

    fn finish(mut self, command: &str) -> Vec<Danger> {
        let walk = &mut self;
        if walk.is_spent() {
            let why = "Its variables and nested commands become too much to be understood.";
            walk.add(Rule::HiddenCode, why, &shell::excerpt(command));
        }
        if command.chars().any(deceives) {
            let why = "It holds characters that make it look different from what it runs.";
            walk.add(Rule::HiddenCode, why, &shell::excerpt(command));
        }
        self.found
    }

    fn add(&mut self, rule: Rule, why: impl Into<String>, part: &str) {
        let danger = Danger {
            rule,
            why: why.into(),
            part: part.to_owned(),
        };
        if self.found.len() < MOST && !self.found.contains(&danger) {
            self.found.push(danger);
        }
    }

    fn add_all(&mut self, findings: Findings, part: &str) {
        for (rule, why) in findings.dangers {
            self.add(rule, why, part);
        }
        for reads in findings.reads {
            let reader = (reads, self.folder.clone());
            if self.reads.len() < MOST && !self.reads.contains(&reader) {
                self.reads.push(reader);
            }
        }
    }

    /// A text that a shell reads as commands.
    fn source(&mut self, text: &str, input: &Flow) -> Flow {
        self.spend(text.len());
        if self.is_spent() {
            return Flow::unknown();
        }
        let script = shell::read(text, self.depth, self.dialect);
        self.script(script, text, input)
    }

    fn script(&mut self, script: Script, text: &str, input: &Flow) -> Flow {
        let part = shell::excerpt(text);
        if text.contains(shell::HOLE) {
            let why = "A part of what a shell reads as commands is only known when it runs.";
            self.add(Rule::HiddenCode, why, &part);
        }
        self.forked |= script.forked;
        let outer = std::mem::replace(&mut self.bodies, script.bodies.into());
        let output = self.list(&script.list, input);
        self.bodies = outer;
        match script.trouble {
            None => {}
            Some(Trouble::Refused) => self.refused = true,
            Some(trouble) => self.misunderstood(trouble, &part),
        }
        output
    }

    fn misunderstood(&mut self, trouble: Trouble, part: &str) {
        let why = format!("It cannot be understood: {trouble}.");
        self.add(Rule::HiddenCode, why, part);
    }

    /// What runs in a shell of its own, as in `( )`: whoever started it stays where it is.
    pub fn apart<T>(&mut self, walk: impl FnOnce(&mut Walk) -> T) -> T {
        let folder = self.folder.clone();
        let result = walk(self);
        self.folder = folder;
        result
    }

    pub fn list(&mut self, list: &[Pipeline], input: &Flow) -> Flow {
        let mut output = Flow::default();
        for pipeline in list {
            if self.is_spent() {
                return Flow::unknown();
            }
            output = output.and(self.pipeline(pipeline, input));
        }
        output
    }

    fn pipeline(&mut self, pipeline: &Pipeline, input: &Flow) -> Flow {
        if let [command] = pipeline.as_slice() {
            return self.command(command, input);
        }
        let mut flow = input.clone();
        for (index, command) in pipeline.iter().enumerate() {
            flow.piped |= index > 0;
            flow = self.apart(|walk| walk.command(command, &flow));
        }
        flow
    }

    fn command(&mut self, command: &Command, input: &Flow) -> Flow {
        self.spend(1);
        match command {
            Command::Simple(simple) => self.simple(simple, &[], input),
            Command::Group(group) => self.group(group, input),
            Command::Function { name, body } => {
                // Who calls it, and with which input, is not followed.
                let unknown = Flow {
                    open: input.open,
                    ..Flow::unknown()
                };
                self.command(body, &unknown);
                if calls(std::slice::from_ref(body), name) {
                    let why =
                        format!("The function `{name}` starts itself again, as a fork bomb does.");
                    self.add(
                        Rule::Exhaustion,
                        shell::excerpt(&why),
                        &shell::excerpt(name),
                    );
                }
                Flow::default()
            }
        }
    }

    fn group(&mut self, group: &Group, input: &Flow) -> Flow {
        let mut each = self.expand_all(&group.words);
        if let Some(name) = &group.variable
            && !each.is_empty()
            && each.iter().all(Argument::is_exact)
        {
            each.iter_mut()
                .for_each(|argument| argument.one_of_many = true);
            self.variables.set(name, Value::Each(each));
        }
        let input = self.redirects(&group.redirects, input, &group.excerpt);
        match group.subshell {
            true => self.apart(|walk| walk.list(&group.body, &input)),
            false => self.list(&group.body, &input),
        }
    }

    /// A command with its arguments, and `more` of them.
    fn simple(&mut self, simple: &Simple, more: &[Argument], input: &Flow) -> Flow {
        for assignment in &simple.assignments {
            self.assign(assignment, &simple.excerpt);
        }
        let mut arguments = self.expand_all(&simple.words);
        arguments.extend_from_slice(more);
        let input = self.redirects(&simple.redirects, input, &simple.excerpt);
        if arguments.is_empty() {
            return Flow::default();
        }
        self.call(&arguments, &input, &simple.excerpt)
    }

    fn assign(&mut self, assignment: &Assignment, part: &str) {
        let Assignment { name, value } = assignment;
        let value = self.expand_whole(value);
        let mut findings = Findings::default();
        rules::assignment(name, &value, &mut findings);
        self.add_all(findings, part);
        if wrappers::is_command_variable(name) && value.is_exact() {
            self.nested(&value.text, &Flow::default());
        }
        self.define_alias_by(name, &value, part);
        if value.is_exact() && !name.ends_with(['+', ']']) {
            self.variables.set(name, Value::Text(value.text));
        }
    }

    fn redirects(&mut self, redirects: &[Redirect], input: &Flow, part: &str) -> Flow {
        let mut input = input.clone();
        for redirect in redirects {
            let target = self.expand_whole(&redirect.target);
            match redirect.kind {
                RedirectKind::Duplicate => {}
                RedirectKind::HereString => input = Flow::text(&target.text),
                RedirectKind::HereDocument(index) => {
                    let bodies = self.bodies.clone();
                    if let Some(body) = bodies.get(index) {
                        input = Flow::text(&self.expand_whole(body).text);
                    }
                }
                RedirectKind::Read => input = self.read_file(target, &input, part),
                RedirectKind::Write => {
                    let path = self.path(&target.text);
                    let mut findings = Findings::default();
                    rules::write(&path, &mut findings);
                    self.add_all(findings, part);
                }
            }
        }
        input
    }

    fn read_file(&mut self, target: Argument, input: &Flow, part: &str) -> Flow {
        if let Some(flow) = target.file {
            return Flow {
                piped: true,
                ..flow
            };
        }
        let path = self.path(&target.text);
        if paths::is_standard_input(&path) {
            return input.clone();
        }
        let mut findings = Findings::default();
        rules::read(&path, &mut findings);
        self.add_all(findings, part);
        Flow {
            secret: paths::is_private(&path),
            ..Flow::default()
        }
    }

    fn path(&mut self, text: &str) -> String {
        self.spend_folder(1);
        let folder = self.folder.as_deref().filter(|_| !self.is_spent());
        paths::normal(text, folder)
    }

    /// That many paths may begin in the folder, and each is as long as it.
    fn spend_folder(&mut self, paths: usize) {
        let length = self.folder.as_ref().map_or(0, String::len);
        self.spend(length * paths / 2);
    }

    fn call(&mut self, arguments: &[Argument], input: &Flow, part: &str) -> Flow {
        let Some((first, rest)) = arguments.split_first() else {
            return Flow::unknown();
        };
        let hidden = hidden_name(first);
        if let Some(why) = hidden {
            self.add(Rule::HiddenCode, why, part);
        }
        self.spend(rest.len());
        self.spend_folder(1 + rest.len());
        if self.is_spent() {
            return Flow::unknown();
        }
        if self.depth >= DEEPEST {
            self.add(
                Rule::HiddenCode,
                "Commands start each other too deeply to be understood.",
                part,
            );
            return Flow::unknown();
        }
        let name = name_of(&first.text);
        let folder = self.folder.clone();
        let call = Call {
            name: &name,
            arguments: rest,
            input,
            folder: folder.as_deref(),
        };
        let mut findings = Findings::default();
        rules::judge(&call, &mut findings);
        let inner = wrappers::inner(&call, &mut findings);
        if hidden.is_some() {
            findings.reads(input, Reads::Typed);
        }
        self.add_all(findings, part);
        let mut output = wrappers::output(&call);
        for inner in inner {
            let flow = match runs_in_this_shell(call.name) {
                true => self.inner(inner, input, part),
                false => self.apart(|walk| walk.inner(inner, input, part)),
            };
            output.remote |= flow.remote;
            output.secret |= flow.secret;
        }
        self.change_folder(&call, part);
        self.define_aliases(&call, part);
        let aliased = self.alias(&first.text, rest, input, part);
        output.remote |= aliased.remote;
        output.secret |= aliased.secret;
        output
    }

    fn inner(&mut self, inner: Inner, input: &Flow, part: &str) -> Flow {
        match inner {
            Inner::Command(arguments) => {
                self.depth += 1;
                let flow = self.call(&arguments, input, part);
                self.depth -= 1;
                flow
            }
            Inner::Source(text) => self.nested(&text, input),
        }
    }

    /// A text inside of a text.
    fn nested(&mut self, text: &str, input: &Flow) -> Flow {
        self.depth += 1;
        let flow = self.source(text, input);
        self.depth -= 1;
        flow
    }

    fn change_folder(&mut self, call: &Call<'_>, part: &str) {
        if !matches!(call.name, "cd" | "pushd") {
            return;
        }
        let target = call.operands().next();
        self.folder = match target {
            None => Some("~".to_owned()),
            Some(target) if target.is_exact() && target.text != "-" => {
                Some(self.path(&target.text))
            }
            Some(_) => None,
        };
        if self
            .folder
            .as_ref()
            .is_some_and(|folder| folder.len() > LONGEST_FOLDER)
        {
            self.folder = None;
            let why = "The folder that it goes to has a longer path than there can be.";
            self.add(Rule::HiddenCode, why, part);
        }
    }

    /// What `$(…)` prints, where every machine prints the same.
    pub fn output_of(&mut self, list: &[Pipeline]) -> Option<&'static str> {
        self.apart(|walk| walk.list(list, &Flow::default()));
        let [pipeline] = list else { return None };
        let [Command::Simple(simple)] = pipeline.as_slice() else {
            return None;
        };
        let word = simple.words.first().filter(|_| simple.words.len() == 1)?;
        match word.pieces.as_slice() {
            [shell::Piece::Text { text, .. }] if text == "pwd" => Some("."),
            [shell::Piece::Text { text, .. }] if text == "nproc" => Some("4"),
            _ => None,
        }
    }
}

/// Whether what this command runs can change the shell that it stands in.
fn runs_in_this_shell(name: &str) -> bool {
    matches!(
        name,
        "eval" | "command" | "builtin" | "time" | "exec" | "." | "source"
    )
}

/// Why it is not known which program a name is.
fn hidden_name(name: &Argument) -> Option<&'static str> {
    let text = name.text.as_str();
    if !name.is_exact() || name.one_of_many {
        return Some("Which command this is becomes known only when it runs.");
    }
    if name.glob && !matches!(text, "[" | "[[") {
        return Some("The name of the command is a pattern.");
    }
    if text.chars().any(shell::is_deceptive) {
        return Some("The name of the command holds characters that cannot be seen.");
    }
    None
}

/// Without its folder; letter case means nothing on some file systems.
fn name_of(text: &str) -> String {
    let name = text.rsplit('/').next().unwrap_or_default();
    name.to_ascii_lowercase()
}

/// Moves what a reader sees, or is not text. Characters that are only invisible may be part of one that is not.
const fn deceives(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

/// Whether a command of this name is called anywhere inside.
fn calls(commands: &[impl std::borrow::Borrow<Command>], name: &str) -> bool {
    commands.iter().any(|command| {
        match command.borrow() {
        Command::Simple(simple) => simple.words.first().is_some_and(|word| {
            matches!(word.pieces.as_slice(), [shell::Piece::Text { text, .. }] if text == name)
        }),
        Command::Group(group) => group.body.iter().any(|pipeline| calls(pipeline, name)),
        Command::Function { body, .. } => calls(std::slice::from_ref(body), name),
    }
    })
}
