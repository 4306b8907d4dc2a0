//! Who is there: which agent answers for a profile, which adapter serves an account (OWN-6).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use homing_domain::origin::AccountName;

use crate::agent::Agent;
use crate::platform::Platform;

/// Looks up the configured agents and accounts. What is not found is not there: no second bot answers for the first.
pub trait Directory: Send + Sync + 'static {
    fn agent(&self, profile: &str) -> Option<Arc<dyn Agent>>;
    fn platform(&self, account: &AccountName) -> Option<Arc<dyn Platform>>;
}

/// A directory that is fixed at start.
#[derive(Default)]
pub struct FixedDirectory {
    pub agents: HashMap<String, Arc<dyn Agent>>,
    pub platforms: HashMap<AccountName, Arc<dyn Platform>>,
}

impl Directory for FixedDirectory {
    fn agent(&self, profile: &str) -> Option<Arc<dyn Agent>> {
        self.agents.get(profile).cloned()
    }
    fn platform(&self, account: &AccountName) -> Option<Arc<dyn Platform>> {
        self.platforms.get(account).cloned()
    }
}

impl fmt::Debug for FixedDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedDirectory")
            .field("agents", &self.agents.keys().collect::<Vec<_>>())
            .field("platforms", &self.platforms.keys().collect::<Vec<_>>())
            .finish()
    }
}
