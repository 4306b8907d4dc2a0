//! The program under test: the same library that `homing` is made of, built by cargo with the tests that start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    homing::main()
}
