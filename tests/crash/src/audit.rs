//! placeholder
use std::path::Path;
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Sync { On, Off }
pub async fn run(_: &Path, _: Sync, _: bool) -> anyhow::Result<bool> { Ok(true) }
