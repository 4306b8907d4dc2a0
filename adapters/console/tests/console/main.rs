//! The console over real HTTP: who gets in, what is refused and how, what streams and windows do, what background work looks like.

#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod browser;
mod fake;
mod getting_in;
mod refusals;
mod windows;
mod work;

const OTTER: &str = "agent:main:console:dm:local:calm-otter";
const LARK: &str = "agent:main:console:dm:local:glad-lark";
