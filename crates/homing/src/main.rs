//! `homing`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    homing::main()
}
