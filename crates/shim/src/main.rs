//! The supervisor of one program: starts it, keeps its output, waits for it, writes down how it ended.
//!
//! It is called by the gateway as `homing-shim <run folder>` with the taken lock as descriptor 0 and a pipe for one answer as descriptor 1.
//!
//! **Invariants.** The lock is held from before we exist until we are gone. `started` is on disk before the program is executed, `exit` after
//! its output is. The end is known by `waitpid` on the program, never by the end of its output: a grandchild may hold the pipe for ever
//! (public bugs 17327, 17430). Signals meant for others do not end us: TERM, HUP, INT and QUIT are ignored, so that whoever ends a whole
//! session or unit still gets an exit record; SIGKILL is the way to end a supervisor.
//! **Absent on purpose:** an async runtime, threads, timers while nothing is due, a log, `PR_SET_PDEATHSIG` (it fires when the starting
//! *thread* ends), any knowledge of owners, and being in the program's cgroup: who ends that must not end us.

mod supervisor {
    pub mod control;
    pub mod input;
    pub mod launch;
    pub mod output;
    pub mod run;
    pub mod sys;
    pub mod tree;
}

use std::ffi::OsString;
use std::process::ExitCode;

use supervisor::launch::{self, Answer};
use supervisor::run::Run;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), None) = (arguments.next(), arguments.next()) else {
        return ExitCode::from(2);
    };
    match supervise(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn supervise(folder: &OsString) -> std::io::Result<()> {
    let (lock, answer) = launch::take_over()?;
    let launched = match launch::launch(folder) {
        Ok(launched) => launched,
        Err(error) => return answer.give(&Answer::Failed(error.to_string())),
    };
    match launched {
        launch::Launched::Running(program) => {
            // A gateway that died meanwhile cannot hear it. It finds `started` when it is back.
            let _ = answer.give(&Answer::Started(program.started.clone()));
            Run::new(*program).until_nothing_is_left()?;
        }
        launch::Launched::CannotRun(why) => answer.give(&Answer::CannotRun(why))?,
    }
    drop(lock);
    Ok(())
}
