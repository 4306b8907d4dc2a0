//! What this agent keeps beside an entry of the history, as JSON with a version.
//!
//! **Invariant:** what cannot be read (another agent's, a later version's) counts as nothing: the text of the entry still says what happened.

use homing_ports::agent::ReceivedFile;
use homing_ports::inbox::CameWith;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::client::{Reasoning, ReasoningField, ToolCall};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Wire {
    v: u32,
    #[serde(flatten)]
    kept: Kept,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Of an agent's entry: the tools that it called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<KeptCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<KeptReasoning>,
    /// Of a tool's entry: the id of the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// Of a turn's answer: what the model said last. The entry's text repeats what was said before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// In the first entry of a turn, and of a person's message: what came with the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptReasoning {
    text: String,
    field: Field,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Field {
    ReasoningContent,
    Reasoning,
}

/// What a person's message came with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AskedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedFile {
    pub name: String,
    #[serde(flatten)]
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Path(String),
    Missing(String),
}

impl Kept {
    /// Beside a person's message it is the gateway that keeps something: what the message came with.
    pub fn read(data: Option<&str>) -> Kept {
        let wire = data.and_then(|data| serde_json::from_str::<Wire>(data).ok());
        let known = wire.filter(|wire| wire.v == VERSION);
        known.map_or_else(
            || Kept {
                asked: Asked::beside_message(data),
                ..Kept::default()
            },
            |wire| wire.kept,
        )
    }

    /// `None`: there is nothing to keep.
    pub fn write(self) -> Option<String> {
        if self == Kept::default() {
            return None;
        }
        let wire = Wire {
            v: VERSION,
            kept: self,
        };
        serde_json::to_string(&wire).ok()
    }
}

impl Asked {
    /// For a message whose turn left no entry of ours: it failed or was stopped. The message's text names the files and where they lie.
    fn beside_message(data: Option<&str>) -> Option<Asked> {
        let quoted = CameWith::read(data)?.quoted?;
        Some(Asked {
            quoted: Some(quoted),
            files: Vec::new(),
        })
    }

    /// `None`: the message is all there is.
    pub fn of(quoted: Option<&str>, files: &[ReceivedFile]) -> Option<Asked> {
        let asked = Asked {
            quoted: quoted.map(str::to_owned),
            files: files.iter().map(AskedFile::of).collect(),
        };
        (asked != Asked::default()).then_some(asked)
    }
}

impl AskedFile {
    fn of(file: &ReceivedFile) -> AskedFile {
        AskedFile {
            name: file.name.clone(),
            place: match &file.path {
                Ok(path) => Place::Path(path.display().to_string()),
                Err(why) => Place::Missing(why.clone()),
            },
        }
    }
}

impl From<&ToolCall> for KeptCall {
    fn from(call: &ToolCall) -> KeptCall {
        KeptCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.raw_arguments.clone(),
            extra: call.extra.clone(),
        }
    }
}

impl From<KeptCall> for ToolCall {
    fn from(call: KeptCall) -> ToolCall {
        ToolCall {
            id: call.id,
            name: call.name,
            raw_arguments: call.arguments,
            extra: call.extra,
        }
    }
}

impl From<&Reasoning> for KeptReasoning {
    fn from(reasoning: &Reasoning) -> KeptReasoning {
        KeptReasoning {
            text: reasoning.text.clone(),
            field: match reasoning.field {
                ReasoningField::ReasoningContent => Field::ReasoningContent,
                ReasoningField::Reasoning => Field::Reasoning,
            },
        }
    }
}

impl From<KeptReasoning> for Reasoning {
    fn from(reasoning: KeptReasoning) -> Reasoning {
        Reasoning {
            text: reasoning.text,
            field: match reasoning.field {
                Field::ReasoningContent => ReasoningField::ReasoningContent,
                Field::Reasoning => ReasoningField::Reasoning,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let kept = Kept {
            calls: vec![KeptCall {
                id: "a".into(),
                name: "terminal".into(),
                arguments: "{not json".into(),
                extra: Map::from_iter([("signature".into(), "s".into())]),
            }],
            reasoning: Some(KeptReasoning {
                text: "hm".into(),
                field: Field::Reasoning,
            }),
            answers: Some("b".into()),
            own: Some(String::new()),
            asked: Some(Asked {
                quoted: Some("q".into()),
                files: vec![
                    AskedFile {
                        name: "a.txt".into(),
                        place: Place::Path("/w/a.txt".into()),
                    },
                    AskedFile {
                        name: "b.txt".into(),
                        place: Place::Missing("too large".into()),
                    },
                ],
            }),
        };
        let written = kept.clone().write();
        assert_eq!(Kept::read(written.as_deref()), kept);
        assert_eq!(Kept::default().write(), None);
    }

    #[test]
    fn what_the_gateway_keeps_beside_a_message_is_read() {
        let came_with = CameWith {
            text: "look".into(),
            quoted: Some("the log".into()),
            attachments: Vec::new(),
        };
        let asked = Kept::read(came_with.write().as_deref()).asked;
        assert_eq!(asked, Asked::of(Some("the log"), &[]));
        assert_eq!(Kept::read(Some(r#"{"text":"look"}"#)), Kept::default());
    }

    #[test]
    fn what_cannot_be_read_is_nothing() {
        for data in [
            None,
            Some(""),
            Some("[]"),
            Some(r#"{"v":2,"own":"x"}"#),
            Some(r#"{"own":"x"}"#),
        ] {
            assert_eq!(Kept::read(data), Kept::default(), "{data:?}");
        }
    }
}
