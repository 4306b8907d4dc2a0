//! Where a secret is: in a file or in a variable of the environment. Never in the settings themselves.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, de};

/// `{ file = "PATH" }` or `{ env = "NAME" }`. Reading it is the binary's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    File(PathBuf),
    Environment(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    file: Option<PathBuf>,
    env: Option<String>,
}

impl<'de> Deserialize<'de> for SecretSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let way_out = "a secret is named, not written here: `{ file = \"PATH\" }` with a file that only you can read, or `{ env = \"NAME\" }`";
        let wrong = || de::Error::custom(way_out);
        let named = Named::deserialize(deserializer).map_err(|_| wrong())?;
        match (named.file, named.env) {
            (Some(file), None) if !file.as_os_str().is_empty() => Ok(SecretSource::File(file)),
            (None, Some(name)) if !name.is_empty() && !name.contains(['=', '\0']) => {
                Ok(SecretSource::Environment(name))
            }
            _ => Err(wrong()),
        }
    }
}
