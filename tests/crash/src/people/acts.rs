//! What people do at random: everything that a conversation knows, about as often as it takes to meet everything else.

use homing_domain::ids::WindowId;

use super::{Operation, People, Place, Started, What};
use crate::programs::{End, Program};
use crate::random::Random;

/// Windows of a thread that are open at the same time, at most.
const WINDOWS: usize = 2;

impl People {
    /// Something random.
    pub fn act(&self, random: &mut Random) {
        let thread = 1 + random.below(self.threads);
        let at = self.place(thread, random);
        match random.below(100) {
            0..30 => self.start_something(at, random),
            30..36 => self.watch_something(at, random),
            36..43 => self.delegate_something(at, random),
            43..51 => self.say(at),
            51..55 => self.new_session(at),
            55..60 => self.command(at, "/branch"),
            60..67 => self.with_one(at, "/resume", "ses", random),
            67..72 => self.command(at, "/compress"),
            72..81 => self.use_random_program(at, random),
            81..84 => self.adopt(at, random),
            84..86 => self.delete(at, random),
            86..88 => self.kill(at, random),
            88..95 => self.handle_windows(thread, random),
            95..98 => self.operate(thread, None, Operation::Idle),
            98 => self.operate(thread, None, Operation::Daily),
            _ => self.command(at, if random.one_in(2) { "/ps" } else { "/status" }),
        }
    }

    /// Half of what is written in a thread that windows show is written in one of them.
    fn place(&self, thread: u64, random: &mut Random) -> Place {
        let open = self.lock().open_windows(thread);
        let window = match random.one_in(2) {
            true => random.pick(&open).copied(),
            false => None,
        };
        Place { thread, window }
    }

    fn handle_windows(&self, thread: u64, random: &mut Random) {
        let open: Vec<WindowId> = self.lock().open_windows(thread);
        match (random.below(4), random.pick(&open).copied()) {
            (0, Some(window)) => self.operate(thread, Some(window), Operation::Touch),
            (1, Some(window)) => self.close_window(thread, window),
            (2, Some(window)) => self.ask_and_leave(thread, window, random),
            _ if open.len() < WINDOWS => drop(self.open_window(thread)),
            (_, Some(window)) => self.close_window(thread, window),
            (_, None) => {}
        }
    }

    /// Something that takes its time is asked for, and nobody waits for it there.
    fn ask_and_leave(&self, thread: u64, window: WindowId, random: &mut Random) {
        let at = Place {
            thread,
            window: Some(window),
        };
        let program = Program {
            sleeps_ms: 600 + random.below(900),
            ..self.program(random)
        };
        match random.one_in(3) {
            true => drop(self.launch(at, "delegate-run", Started::ByDelegation, program)),
            false => drop(self.launch(at, "start", Started::Directly, program)),
        }
        self.close_window(thread, window);
    }

    fn start_something(&self, at: Place, random: &mut Random) {
        let program = self.program(random);
        let verb = if random.one_in(4) { "both" } else { "start" };
        self.launch(at, verb, Started::Directly, program);
    }

    fn watch_something(&self, at: Place, random: &mut Random) {
        let program = Program {
            // Up to a dozen pauses: several windows of the limits that count matches.
            matches: 1 + random.below(48),
            lines: random.below(6),
            sleeps_ms: random.below(100),
            ..self.program(random)
        };
        self.launch(at, "watch", Started::Directly, program);
    }

    fn delegate_something(&self, at: Place, random: &mut Random) {
        let program = self.program(random);
        let verb = if random.one_in(3) {
            "delegate-start"
        } else {
            "delegate-run"
        };
        self.launch(at, verb, Started::ByDelegation, program);
    }

    fn use_random_program(&self, at: Place, random: &mut Random) {
        let newest: Vec<String> = {
            let ledger = self.lock();
            let here = ledger.programs.values().filter(|launched| {
                launched.at.thread == at.thread && launched.started == Started::Directly
            });
            let mut here: Vec<Program> = here.map(|launched| launched.program).collect();
            here.sort_unstable_by_key(|program| std::cmp::Reverse(program.number));
            here.iter().take(5).map(Program::label).collect()
        };
        let verb = *random
            .pick(&["wait", "wait", "kill", "log"])
            .unwrap_or(&"wait");
        match random.pick(&newest) {
            Some(label) => self.use_program(at, verb, label),
            None => self.say(at),
        }
    }

    /// One of the newest ids of a kind that this thread has read.
    fn known(&self, thread: u64, kind: &str, random: &mut Random) -> Option<String> {
        let mut known = self.ids_named_in(thread, kind);
        let newest = known.split_off(known.len().saturating_sub(30));
        random.pick(&newest).cloned()
    }

    fn with_one(&self, at: Place, command: &str, kind: &str, random: &mut Random) {
        match self.known(at.thread, kind, random) {
            Some(id) => self.command(at, &format!("{command} {id}")),
            None => self.say(at),
        }
    }

    fn adopt(&self, at: Place, random: &mut Random) {
        let Some(process) = self.known(at.thread, "prc", random) else {
            return self.say(at);
        };
        *self.lock().adopted.entry(process.clone()).or_default() += 1;
        self.command(at, &format!("/adopt {process}"));
    }

    fn delete(&self, at: Place, random: &mut Random) {
        let Some(session) = self.known(at.thread, "ses", random) else {
            return self.say(at);
        };
        let text = format!("/delete {session}");
        self.write(at, text, What::Delete { session });
    }

    fn kill(&self, at: Place, random: &mut Random) {
        if random.one_in(2) {
            return self.with_one(at, "/kill", "dlg", random);
        }
        let Some(process) = self.known(at.thread, "prc", random) else {
            return self.say(at);
        };
        self.lock().processes_to_be_killed.insert(process.clone());
        self.command(at, &format!("/kill {process}"));
    }

    fn program(&self, random: &mut Random) -> Program {
        let end = match random.below(10) {
            0..4 => End::Code(0),
            4..9 => End::Code(u8::try_from(1 + random.below(120)).unwrap_or(1)),
            _ => End::Killed,
        };
        let sleeps_ms = match random.below(4) {
            0 => 0,
            1 => random.below(50),
            2 => random.below(400),
            _ => random.below(1_500),
        };
        let lines = match random.below(8) {
            0 => 700,
            _ => random.below(6),
        };
        Program {
            number: self.number(),
            end,
            sleeps_ms,
            lines,
            matches: 0,
        }
    }
}
