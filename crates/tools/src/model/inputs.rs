//! What models have written to the processes that they started, as far as it is not over.
//!
//! **Invariant:** of a process whose input runs what is written to it, either all that was written is accounted for, or it is known that it is not:
//! then everything is asked about. One write to a process is judged and made before the next is judged.
//! **Absent on purpose:** the store. After a restart nothing is known, and that is said.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::danger::Input;
use homing_domain::ids::ProcessId;
use homing_ports::agent::{ToolAnswer, ToolError};

use super::Failure;
use crate::SessionTools;

/// Processes that are remembered. What is forgotten is asked about.
const MOST: usize = 2_000;
/// Characters of a command that name its process in a question.
const COMMAND: usize = 120;

type Slot = Arc<tokio::sync::Mutex<Option<Input>>>;

/// By process; `None` in a slot is: not known.
#[derive(Debug, Default)]
pub struct Inputs(Mutex<BTreeMap<ProcessId, Slot>>);

impl Inputs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ProcessId, Slot>> {
        // Whole after every operation.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It was just started, and nothing was written to it.
    pub(super) fn begin(&self, process: ProcessId, input: Input) {
        if !input.is_run() {
            return;
        }
        let mut slots = self.lock();
        while slots.len() >= MOST {
            slots.pop_first();
        }
        slots.insert(process, Arc::new(tokio::sync::Mutex::new(Some(input))));
    }

    /// Something else is written to it.
    pub(crate) fn forget(&self, process: ProcessId) {
        self.lock().remove(&process);
    }

    fn of(&self, process: ProcessId) -> Slot {
        let mut slots = self.lock();
        while slots.len() >= MOST && !slots.contains_key(&process) {
            slots.pop_first();
        }
        slots.entry(process).or_default().clone()
    }
}

impl SessionTools {
    /// Writes a text, once the person has allowed it if the process would run it and it is dangerous.
    pub(super) async fn write_looked_at(
        &self,
        process: ProcessId,
        text: &str,
    ) -> Result<ToolAnswer, Failure> {
        let row = self.row(process).await?;
        // Whether it has a terminal is not kept: the stricter of both is assumed.
        let forgotten = Input::of(&row.command, true).forgotten();
        if !forgotten.is_run() {
            return Ok(self.write(process, text.as_bytes()).await?);
        }
        let slot = self.workshop.inputs.of(process);
        let Some(mut known) = self.cancel.run_until_cancelled(slot.lock()).await else {
            return Err(Failure::Turn(ToolError::Cancelled));
        };
        let heard = known.as_ref().unwrap_or(&forgotten).hear(text);
        self.ask(
            &heard.dangers,
            written(process, &row.command, &heard.before, text),
        )
        .await?;
        // A write that breaks off may have written a part.
        *known = None;
        let done = self.write(process, text.as_bytes()).await?;
        *known = Some(heard.after);
        Ok(done)
    }
}

/// What an answer is bound to: the process, and all that it makes one text of.
fn written(process: ProcessId, command: &str, before: &str, text: &str) -> String {
    let mut program: String = command.chars().take(COMMAND).collect();
    if program.len() < command.len() {
        program.push('…');
    }
    let program = program.replace(['\n', '\r'], " ");
    format!("write to {process} ({program}):\n{before}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(number: u64) -> ProcessId {
        ProcessId::from_number(number)
    }

    #[test]
    fn an_answer_is_bound_to_the_process_and_to_all_that_it_makes_one_text_of() {
        let text = written(process(1), "bash -i\n", "rm -r", "f ~\n");
        let id = process(1);
        assert_eq!(text, format!("write to {id} (bash -i ):\nrm -rf ~\n"));
        assert_ne!(text, written(process(2), "bash -i\n", "rm -r", "f ~\n"));
        let long = written(process(1), &"x".repeat(1_000), "", "ls");
        assert!(long.len() < 250 && long.contains('…') && long.ends_with("ls"));
    }

    #[tokio::test]
    async fn what_is_forgotten_is_not_known_and_nothing_grows_without_bound() {
        let inputs = Inputs::default();
        let shell = || Input::of("sh", false);
        inputs.begin(process(1), shell());
        inputs.begin(process(2), Input::of("cat", false));
        assert_eq!(inputs.lock().len(), 1, "nobody is asked about it");
        assert!(inputs.of(process(1)).lock().await.is_some());
        inputs.forget(process(1));
        assert!(inputs.of(process(1)).lock().await.is_none());
        for number in 0..3 * MOST as u64 {
            inputs.begin(process(number), shell());
        }
        assert_eq!(inputs.lock().len(), MOST);
        let newest = process(3 * MOST as u64 - 1);
        assert!(inputs.of(newest).lock().await.is_some());
        assert!(inputs.of(process(0)).lock().await.is_none());
        assert_eq!(inputs.lock().len(), MOST);
    }
}
