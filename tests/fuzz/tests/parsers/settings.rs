//! The configuration file.

use homing_config::{Config, ConfigError};
use homing_fuzz::{Reading, fuzz};

use crate::text;

#[test]
fn configurations() {
    fuzz("config", |input| {
        let text = text(input);
        match Config::parse(&text) {
            Ok(config) => {
                assert_eq!(config.check(), Ok(()), "what parses is possible");
                assert!(config.gateway.listen.ip().is_loopback());
                assert_eq!(Config::parse(&text), Ok(config));
                Reading::Accepted
            }
            Err(ConfigError::Text(said)) => {
                assert!(!said.trim().is_empty());
                Reading::Refused
            }
            Err(ConfigError::Impossible { key, problem, .. }) => {
                assert!(key.contains('.') && !problem.is_empty());
                Reading::Refused
            }
        }
    });
}
