//! What is bound to a statement's question marks, in order.

use homing_domain::ids::*;
use homing_domain::time::Timestamp;
use sqlx::sqlite::{Sqlite, SqliteArguments};
use sqlx::{Arguments, Encode, Type};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// `values![id, "text", None::<i64>]`
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::values::Value::from($value)),*] };
}
pub(crate) use values;

impl Value {
    /// Binds it. Encoding a number, a text or bytes cannot fail; were it to, the value is bound as NULL and the schema refuses it.
    pub(crate) fn bind(self, arguments: &mut SqliteArguments) {
        match self {
            Value::Null => add(arguments, None::<i64>),
            Value::Integer(value) => add(arguments, value),
            Value::Text(value) => add(arguments, value),
            Value::Bytes(value) => add(arguments, value),
        }
    }
}

fn add<'t, T: Encode<'t, Sqlite> + Type<Sqlite>>(arguments: &mut SqliteArguments, value: T) {
    if let Err(error) = arguments.add(value) {
        tracing::error!(%error, "a value cannot be encoded");
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Integer(value)
    }
}
impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Integer(value.into())
    }
}
impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Value::Integer(value.into())
    }
}
/// Counts of bytes and generations: none gets near the end of the range.
impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}
impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Integer(value.into())
    }
}
impl From<Timestamp> for Value {
    fn from(value: Timestamp) -> Self {
        Value::Integer(value.millis())
    }
}
impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}
impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}
impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Value::Text(value.clone())
    }
}
impl From<&Vec<u8>> for Value {
    fn from(value: &Vec<u8>) -> Self {
        Value::Bytes(value.clone())
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

macro_rules! ids {
    ($($name:ident)*) => {$(
        impl From<$name> for Value {
            fn from(id: $name) -> Self { Value::Integer(id.column()) }
        }
    )*};
}
ids! { ConversationId SessionId LineageId TurnId MessageId InboundId OutboxId ProcessId DelegationId NotificationId WindowId ApprovalId }
