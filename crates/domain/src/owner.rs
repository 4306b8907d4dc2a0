//! The stamp that background work carries from before its first instruction (OWN-20, 21).

use crate::ids::{ConversationId, DelegationId, LineageId, SessionId, WindowId};
use crate::origin::Origin;

/// Who started a piece of background work. Copied into the work's row before it runs; changed by nothing but `/adopt` (OWN-42).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub conversation: ConversationId,
    pub session: SessionId,
    pub lineage: LineageId,
    pub origin: Origin,
    /// The console window that asked, if one did.
    pub window: Option<WindowId>,
    /// The delegation that started it; the conversation above is then the root of the chain (OWN-23).
    pub delegation: Option<DelegationId>,
}
