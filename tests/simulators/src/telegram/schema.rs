//! Requests checked against the JSON Schema of the Bot API, where it is at hand.
//!
//! **Invariant:** a method's validator is made when it is first asked for, and once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::settings::Schema;

const FILE: &str = "telegram_bot_api_10.3.schema.json";

#[derive(Debug)]
pub(super) struct Schemas {
    methods: Map<String, Value>,
    definitions: Value,
    ready: Mutex<BTreeMap<String, Arc<Validator>>>,
}

impl Schemas {
    /// The schema that the settings name. `None` if it is off, or nowhere to be found.
    pub fn read(wanted: &Schema) -> Result<Option<Schemas>, (PathBuf, String)> {
        let path = match wanted {
            Schema::Off => return Ok(None),
            Schema::File(path) => path.clone(),
            Schema::Found => match found() {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        Schemas::from_file(&path)
            .map(Some)
            .map_err(|why| (path, why))
    }

    fn from_file(path: &Path) -> Result<Schemas, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let mut whole: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        match (whole["methods"].take(), whole["$defs"].take()) {
            (Value::Object(methods), definitions @ Value::Object(_)) => Ok(Schemas {
                methods,
                definitions,
                ready: Mutex::default(),
            }),
            _ => Err("it has no objects `methods` and `$defs`".into()),
        }
    }

    #[cfg(test)]
    pub fn method_names(&self) -> impl Iterator<Item = &str> {
        self.methods.keys().map(String::as_str)
    }

    /// What is wrong with a request's parameters, in one line.
    pub fn problem(&self, method: &str, params: &Map<String, Value>) -> Option<String> {
        let schema = &self.methods.get(method)?["params"];
        self.first_problem(method, schema, &Value::Object(params.clone()))
    }

    /// What is wrong with the answer to a method.
    pub fn problem_of_answer(&self, method: &str, result: &Value) -> Option<String> {
        let schema = self.methods.get(method)?.get("returns")?;
        self.first_problem(&format!("{method} answers"), schema, result)
    }

    /// What is wrong with an update.
    pub fn problem_of_update(&self, update: &Value) -> Option<String> {
        self.first_problem("update", &json!({"$ref": "#/$defs/Update"}), update)
    }

    fn first_problem(&self, name: &str, schema: &Value, instance: &Value) -> Option<String> {
        let validator = match self.validator(name, schema) {
            Ok(validator) => validator,
            Err(error) => return Some(format!("the schema of {name} is of no use: {error}")),
        };
        let error = validator.iter_errors(instance).next()?;
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "/" } else { &place };
        Some(format!("{place}: {error}"))
    }

    fn validator(&self, name: &str, schema: &Value) -> Result<Arc<Validator>, String> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(validator) = ready.get(name) {
            return Ok(Arc::clone(validator));
        }
        let whole = json!({"$defs": self.definitions, "allOf": [schema]});
        let validator = Arc::new(jsonschema::validator_for(&whole).map_err(|e| e.to_string())?);
        ready.insert(name.to_owned(), Arc::clone(&validator));
        Ok(validator)
    }
}

fn found() -> Option<PathBuf> {
    let folder = match std::env::var_os("HOMING_CONTRACTS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/contracts"),
    };
    Some(folder.join(FILE)).filter(|path| path.exists())
}
