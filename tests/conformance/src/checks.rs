//! The checks, by subject.

pub mod adoption;
pub mod agents;
pub mod approvals;
pub mod commits;
pub mod durability;
pub mod fencing;
pub mod inbound;
pub mod lineage;
pub mod notifications;
pub mod outbox;
pub mod platforms;
pub mod races;
pub mod rules;
pub mod turns;
pub mod windows;
pub mod work;
