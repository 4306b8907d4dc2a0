//! What can be asked on the command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Homing: an agent in the places where your team talks, whose background work always comes home.
///
/// Without a command it serves: it makes its data folder, opens the console on a loopback port and prints a link to it.
///
/// Exit codes: 0 done, 1 it did not work (the reason is printed), 2 it was asked for wrongly.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    args_conflicts_with_subcommands = true
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the gateway until ctrl-C (the default)
    Serve(Serve),
    /// List processes: what runs, and what ended lately
    Ps(Ps),
    /// Print the output of a process
    Log(Log),
    /// Stop a process and everything it started
    Kill(Kill),
    /// Say why a result was, or was not, posted
    Explain(Explain),
    /// Check this machine and the data folder, and say what is wrong
    Doctor(Doctor),
}

impl Default for Command {
    fn default() -> Self {
        Command::Serve(Serve::default())
    }
}

#[derive(Debug, Default, Args)]
pub struct Serve {
    /// Settings (TOML); without it the defaults hold
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where everything is kept; `data` unless the settings say otherwise
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The console's address; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
}

/// Where a running, or stopped, gateway keeps its things.
#[derive(Debug, Args)]
pub struct Place {
    /// The gateway's data folder
    #[arg(long, value_name = "DIR", default_value = "data", env = "HOMING_DATA")]
    pub data: PathBuf,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Ps {
    #[command(flatten)]
    pub place: Place,
    /// Only what runs now
    #[arg(long)]
    pub live: bool,
    /// How many to show
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub limit: u32,
}

#[derive(Debug, Args)]
pub struct Log {
    #[command(flatten)]
    pub place: Place,
    /// The process: its id, or the last characters of it
    pub process: String,
    /// Begin at this byte of everything that was ever written, instead of the end
    #[arg(long, value_name = "OFFSET", conflicts_with = "tail")]
    pub from: Option<u64>,
    /// Print the last bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 * 1024)]
    pub tail: usize,
}

#[derive(Debug, Args)]
pub struct Kill {
    #[command(flatten)]
    pub place: Place,
    /// The process: its id, or the last characters of it
    pub process: String,
}

#[derive(Debug, Args)]
pub struct Explain {
    #[command(flatten)]
    pub place: Place,
    /// A notification or a process: its id, or the last characters of it
    pub id: String,
}

#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    pub place: Place,
    /// Settings (TOML) to check as well
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Ask this platform whether its bot can work as the settings say
    #[arg(value_enum)]
    pub platform: Option<CheckedPlatform>,
    /// Send a message to this place, and delete it again: CHAT, or CHAT:TOPIC
    #[arg(
        long,
        value_name = "PLACE",
        requires = "platform",
        allow_hyphen_values = true
    )]
    pub probe: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CheckedPlatform {
    Telegram,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
