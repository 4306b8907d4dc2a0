//! The simulated Telegram Bot API as a program, for clients in any language.
//!
//! It prints one line of JSON with its address, and runs until it is interrupted, or, if asked so, until its standard input ends. The world is made and read
//! through `/_control/…`; `/_control/help` lists how.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use homing_simulators::telegram::{Flood, Pace, Schema, Server, Settings};
use tokio::io::AsyncReadExt as _;

#[derive(Debug, Parser)]
#[command(
    name = "telegram",
    about = "The Telegram Bot API, simulated on loopback"
)]
struct Arguments {
    /// Where to listen; loopback only.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The JSON Schema of the Bot API's methods. Without it, the one in HOMING_CONTRACTS is used, if there is one.
    #[arg(long)]
    schema: Option<PathBuf>,
    /// Be as slow as Telegram: repeated offsets are throttled, failed webhooks wait for seconds.
    #[arg(long)]
    real_pace: bool,
    /// Refuse too many messages, as the documentation says.
    #[arg(long)]
    flood: bool,
    /// Stop when standard input ends, so that nothing is left behind by a script that was killed.
    #[arg(long)]
    until_eof: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let server = Server::start(Settings {
        listen: arguments.listen,
        schema: arguments.schema.map_or(Schema::Found, Schema::File),
        control: true,
        pace: match arguments.real_pace {
            true => Pace::real(),
            false => Pace::default(),
        },
        flood: arguments.flood.then(Flood::documented),
        ..Settings::default()
    })
    .await?;
    let line = serde_json::json!({"url": server.url(), "schema": server.has_schema()});
    writeln!(std::io::stdout(), "{line}")?;
    if arguments.until_eof {
        let mut rest = Vec::new();
        tokio::io::stdin().read_to_end(&mut rest).await?;
    } else {
        tokio::signal::ctrl_c().await?;
    }
    Ok(())
}
