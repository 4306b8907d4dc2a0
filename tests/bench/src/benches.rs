//! The benches, by name: what each measures, and what is aimed at.

mod agent;
mod exit_to_send;
mod foreign;
mod history;
mod lineage;
mod lookup;
mod processes;
mod restart;
mod soak;
mod start;
mod telegram;
mod throughput;
mod watch;

use clap::ValueEnum;

use crate::place::Place;
use crate::report::Figures;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Name {
    Agent,
    ExitToSend,
    Foreign,
    Lookup,
    Lineage,
    History,
    Throughput,
    Start,
    Processes,
    Restart,
    Soak,
    Telegram,
    Watch,
}

impl Name {
    pub const fn text(self) -> &'static str {
        match self {
            Name::Agent => "agent",
            Name::ExitToSend => "exit-to-send",
            Name::Foreign => "foreign",
            Name::Lookup => "lookup",
            Name::Lineage => "lineage",
            Name::History => "history",
            Name::Throughput => "throughput",
            Name::Start => "start",
            Name::Processes => "processes",
            Name::Restart => "restart",
            Name::Soak => "soak",
            Name::Telegram => "telegram",
            Name::Watch => "watch",
        }
    }

    pub const fn about(self) -> &'static str {
        match self {
            Name::Agent => {
                "what the gateway and the model agent add to a model that answers at once"
            }
            Name::ExitToSend => "from the end of a short program to its message at the platform",
            Name::Foreign => {
                "one delivery, from recorded to delivered, while notifications wait in other conversations"
            }
            Name::Lookup => {
                "the conversation and session of a key, with that many conversations in the store"
            }
            Name::Lineage => "the verdict for an owner whose lineage was compressed that often",
            Name::History => "durable appends to histories, by conversations side by side",
            Name::Throughput => {
                "messages through the whole line, 100 conversations, an agent that echoes"
            }
            Name::Start => "the release binary: how soon it is ready, how much it needs while idle",
            Name::Processes => {
                "starting background processes, and recording one more while 1,000 live"
            }
            Name::Restart => {
                "the release binary over 1,000 living processes: how soon it is ready, whether it has them all"
            }
            Name::Soak => {
                "whether memory grows over 100,000 messages and 10,000 processes (less with --scale)"
            }
            Name::Telegram => {
                "messages through the whole line over a simulated Telegram: one at a time, then 50 topics at once"
            }
            Name::Watch => "output through 20 watch patterns",
        }
    }

    /// What is aimed at, for the figures that have an aim.
    pub const fn aims(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Name::Agent => &[("overhead_ms_per_turn", "< 5")],
            Name::ExitToSend => &[("p50_ms", "< 10"), ("p99_ms", "< 50"), ("lost", "0")],
            Name::Foreign => &[("us_10", "flat"), ("us_1000", "flat"), ("us_10000", "flat")],
            Name::Lookup => &[
                ("us_1", "< 100"),
                ("us_1000", "< 100"),
                ("us_5000", "< 100"),
                ("us_100000", "< 100"),
            ],
            Name::Lineage => &[("ns_1", "flat"), ("ns_100", "flat"), ("ns_10000", "flat")],
            Name::History => &[("per_s_8", "> 3000")],
            Name::Throughput => &[("messages_per_s", "> 2000")],
            Name::Start => &[
                ("ready_ms", "< 30"),
                ("first_ready_ms", "< 150"),
                ("idle_rss_mb", "< 25"),
                ("idle_anon_mb", "< 8"),
                ("binary_mb", "< 30"),
                ("cli_ms", "< 30"),
            ],
            Name::Processes => &[
                ("spawn_ms", "< 10"),
                ("shim_rss_kb", "< 1500"),
                ("record_us_1000", "< 1000"),
            ],
            Name::Restart => &[("ready_ms", "< 1000"), ("kept", "1000")],
            Name::Soak => &[("growth_percent", "< 1")],
            Name::Telegram => &[],
            Name::Watch => &[("mb_per_s", "> 200")],
        }
    }

    /// `scale` makes the long ones shorter.
    pub async fn run(self, place: &Place, scale: f64) -> anyhow::Result<Figures> {
        match self {
            Name::Agent => agent::run(place).await,
            Name::ExitToSend => exit_to_send::run(place).await,
            Name::Foreign => foreign::run(place).await,
            Name::Lookup => lookup::run(place).await,
            Name::Lineage => lineage::run(place).await,
            Name::History => history::run(place).await,
            Name::Throughput => throughput::run(place).await,
            Name::Start => start::run(place).await,
            Name::Processes => processes::run(place).await,
            Name::Restart => restart::run(place).await,
            Name::Soak => soak::run(place, scale).await,
            Name::Telegram => telegram::run(place).await,
            Name::Watch => watch::run().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_and_the_figures_call_it_the_same() {
        for name in Name::value_variants() {
            let typed = name.to_possible_value();
            assert_eq!(
                typed.as_ref().map(|value| value.get_name()),
                Some(name.text())
            );
        }
    }
}
