//! `/log`: the end of a process's output. A person who looks takes nothing away from the agent (OWN-50).

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::StoreError;

use super::{Call, Command, Outcome};

pub(super) const COMMAND: Command = Command {
    name: "log",
    usage: "PROCESS [BYTES]",
    summary: "the last output of a process",
    run,
};

const DEFAULT: usize = 2_000;
const LIMIT: usize = 16_000;

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let Some(wanted) = call.arguments().first() else {
            return Ok(call.usage("Which process?"));
        };
        let bytes = match call.arguments().get(1).map(|text| text.parse::<usize>()) {
            None => DEFAULT,
            Some(Ok(bytes)) if (1..=LIMIT).contains(&bytes) => bytes,
            Some(_) => return Ok(call.usage(&format!("BYTES is a number from 1 to {LIMIT}."))),
        };
        let process = match call.find_process(wanted).await? {
            Ok(process) => process,
            Err(problem) => return Ok(Outcome::reply(problem)),
        };
        let text = match call.inside.processes.tail(process.id, bytes).await {
            Ok(chunk) => homing_domain::block::output(&chunk.bytes, chunk.total, bytes),
            // Its run folder is cleaned up or damaged: the store has the end of it.
            Err(_) if !process.output_tail.is_empty() => {
                homing_domain::block::output(&process.output_tail, process.output_total, bytes)
            }
            Err(error) => format!("Its output cannot be read: {error}."),
        };
        Ok(Outcome::reply(format!(
            "{}\n{text}",
            call.process_line(&process)
        )))
    }
    .boxed()
}
