//! Both handles answer the port's questions by handing them to their readers.

use async_trait::async_trait;
use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::AccountName;
use homing_domain::time::Timestamp;
use homing_ports::store::*;

use crate::store::{SqliteReader, SqliteStore};

macro_rules! queries {
    ($handle:ident; $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl Queries for $handle {
            $(async fn $name(&self, $($argument: $type),*) -> StoreResult<$answer> {
                self.readers.$name($($argument),*).await
            })*
        }
    };
}

homing_ports::every_query! { queries, SqliteStore }
homing_ports::every_query! { queries, SqliteReader }
