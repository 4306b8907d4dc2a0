//! Arguments of a model's call: one table per tool, from which the schema is made and by which a call is checked.

use serde_json::{Map, Value, json};

/// One argument.
pub(super) struct Field {
    pub name: &'static str,
    pub about: &'static str,
    pub kind: Kind,
    pub required: bool,
}

pub(super) enum Kind {
    Text,
    Flag,
    Number { least: u64, most: u64 },
    Texts { most: usize },
    Choice(&'static [&'static str]),
}

pub(super) const fn required(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        name,
        about,
        kind,
        required: true,
    }
}

pub(super) const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        name,
        about,
        kind,
        required: false,
    }
}

pub(super) fn schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| (field.name.to_owned(), property(field)))
        .collect();
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(field: &Field) -> Value {
    let mut property = match &field.kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Number { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Texts { most } => {
            json!({ "type": "array", "items": { "type": "string" }, "maxItems": most })
        }
        Kind::Choice(words) => json!({ "type": "string", "enum": words }),
    };
    if let Some(object) = property.as_object_mut() {
        object.insert("description".into(), field.about.into());
    }
    property
}

/// Arguments that fit their table.
#[derive(Debug)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// The error says what is wrong and shows the right form.
    pub fn read(tool: &str, fields: &[Field], text: &str) -> Result<Self, String> {
        let wrong = |problem: String| format!("{problem}. The right form: {}", form(tool, fields));
        let text = text.trim();
        let value: Value = match text {
            // Some models leave out an object that would be empty.
            "" => json!({}),
            text => serde_json::from_str(text)
                .map_err(|error| wrong(format!("the arguments are not valid JSON ({error})")))?,
        };
        let Value::Object(mut given) = value else {
            return Err(wrong(format!(
                "the arguments are {}, not an object",
                kind_of(&value)
            )));
        };
        // `null` says as much as leaving it out.
        given.retain(|_, value| !value.is_null());
        for (name, value) in &given {
            let Some(field) = fields.iter().find(|field| field.name == name) else {
                let shown: String = name.chars().take(60).collect();
                return Err(wrong(format!("there is no argument `{shown}`")));
            };
            check(field, value).map_err(wrong)?;
        }
        match fields
            .iter()
            .find(|field| field.required && !given.contains_key(field.name))
        {
            Some(missing) => Err(wrong(format!("the argument `{}` is missing", missing.name))),
            None => Ok(Self(given)),
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Of one that is required: never absent here.
    pub fn the_text(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub fn texts(&self, name: &str) -> Vec<String> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }
}

fn check(field: &Field, value: &Value) -> Result<(), String> {
    let name = field.name;
    match &field.kind {
        Kind::Text if value.is_string() => Ok(()),
        Kind::Text => Err(format!("`{name}` must be a string, not {}", kind_of(value))),
        Kind::Flag if value.is_boolean() => Ok(()),
        Kind::Flag => Err(format!(
            "`{name}` must be true or false, not {}",
            kind_of(value)
        )),
        Kind::Number { least, most } => match value.as_u64() {
            Some(number) if (*least..=*most).contains(&number) => Ok(()),
            Some(number) => Err(format!(
                "`{name}` must be from {least} to {most}, not {number}"
            )),
            None => Err(format!(
                "`{name}` must be a whole number from {least} to {most}, not {}",
                kind_of(value)
            )),
        },
        Kind::Texts { most } => match value.as_array() {
            Some(list) if list.len() > *most => Err(format!(
                "`{name}` has {} entries, at most {most} are taken",
                list.len()
            )),
            Some(list) if list.iter().all(Value::is_string) => Ok(()),
            Some(_) | None => Err(format!("`{name}` must be a list of strings")),
        },
        Kind::Choice(words) => match value.as_str() {
            Some(word) if words.contains(&word) => Ok(()),
            _ => Err(format!("`{name}` must be one of {}", words.join(", "))),
        },
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "another number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// `terminal {"command": string, "limit"?: 1 to 3600}`
fn form(tool: &str, fields: &[Field]) -> String {
    let shown: Vec<String> = fields
        .iter()
        .map(|field| {
            let kind = match &field.kind {
                Kind::Text => "string".to_owned(),
                Kind::Flag => "boolean".to_owned(),
                Kind::Number { least, most } => format!("{least} to {most}"),
                Kind::Texts { .. } => "[string, …]".to_owned(),
                Kind::Choice(words) => words.join("|"),
            };
            let mark = if field.required { "" } else { "?" };
            format!("\"{}\"{mark}: {kind}", field.name)
        })
        .collect();
    format!("{tool} {{{}}}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const FIELDS: &[Field] = &[
        required("command", Kind::Text, "what"),
        optional("limit", Kind::Number { least: 1, most: 9 }, "how long"),
        optional("watch", Kind::Texts { most: 2 }, "patterns"),
        optional("how", Kind::Choice(&["fast", "slow"]), "how"),
        optional("background", Kind::Flag, "whether"),
    ];

    #[test]
    fn what_fits_is_read() {
        let given =
            r#"{"command": "make", "limit": 9, "watch": ["a"], "how": null, "background": true}"#;
        let read = Arguments::read("t", FIELDS, given).unwrap();
        assert_eq!(read.the_text("command"), "make");
        assert_eq!(read.number("limit"), Some(9));
        assert_eq!(read.texts("watch"), ["a"]);
        assert_eq!(read.text("how"), None);
        assert_eq!(read.flag("background"), Some(true));
    }

    #[test]
    fn what_is_wrong_is_said_with_the_right_form() {
        for (given, said) in [
            ("{", "not valid JSON"),
            ("[1]", "are a list, not an object"),
            ("", "`command` is missing"),
            (r#"{"command": 1}"#, "`command` must be a string"),
            (
                r#"{"command": "x", "comand": "x"}"#,
                "there is no argument `comand`",
            ),
            (r#"{"command": "x", "limit": 10}"#, "from 1 to 9, not 10"),
            (r#"{"command": "x", "limit": "3"}"#, "not a string"),
            (r#"{"command": "x", "limit": 1.5}"#, "a whole number"),
            (
                r#"{"command": "x", "watch": ["a", 1]}"#,
                "a list of strings",
            ),
            (r#"{"command": "x", "watch": ["a", "b", "c"]}"#, "at most 2"),
            (r#"{"command": "x", "how": "soon"}"#, "one of fast, slow"),
            (r#"{"command": "x", "background": "yes"}"#, "true or false"),
        ] {
            let problem = Arguments::read("t", FIELDS, given).unwrap_err();
            assert!(problem.contains(said), "{given}: {problem}");
            assert!(
                problem.contains(r#"t {"command": string, "limit"?: 1 to 9"#),
                "{problem}"
            );
        }
    }
}
