//! The checks, by subject.

pub mod arriving;
pub mod extras;
pub mod live;
pub mod places;
pub mod rendering;
pub mod secrets;
pub mod sending;
