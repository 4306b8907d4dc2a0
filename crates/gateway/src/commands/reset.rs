//! `/reset`: another word for `/new`.

use super::{Command, new};

pub(super) const COMMAND: Command = Command {
    name: "reset",
    usage: "[TITLE]",
    summary: "the same as /new",
    run: new::run,
};
