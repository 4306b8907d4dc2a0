//! What an agent sees of a session: back to the summary, or to the beginning, through the session that it was branched from.
//!
//! **Invariant:** a branch sees its parent as it was when the branch began. A sub-agent's session remembers its parent, too, and sees nothing of it.

use homing_domain::ids::*;
use homing_ports::store::*;

use super::Readers;
use crate::columns;
use crate::rows;
use crate::values::values;

/// What was kept word for word lies in older sessions of the lineage.
const KEPT: &str = concat!(
    "SELECT ",
    columns::message!("m."),
    " FROM messages m WHERE m.session IN (SELECT id FROM sessions WHERE conversation = ? AND lineage = ?) \
     AND m.id >= ? AND m.id < ? AND m.undone = 0 ORDER BY m.id DESC LIMIT ? + 0"
);
const OWN: &str = concat!(
    "SELECT ",
    columns::message!("m."),
    " FROM messages m WHERE m.session = ? AND m.id < ? AND m.undone = 0 ORDER BY m.id DESC LIMIT ? + 0"
);
const ROOT: &str = concat!(
    "SELECT ",
    columns::session!("s."),
    ", 0 FROM sessions s WHERE s.conversation = ? AND s.lineage = ? AND s.continues IS NULL"
);
const OF_A_SUB_AGENT: &str = "SELECT 1 FROM delegations INDEXED BY delegations_of_conversation WHERE conversation = ? AND own_session = ?";

#[cfg(test)]
pub(super) const HOT: &[&str] = &[OWN, ROOT, OF_A_SUB_AGENT];

/// A branch of a branch of a branch …: further back than this nothing is looked for.
const DEPTH: usize = 64;

/// How far back is looked in one lineage.
struct View {
    session: SessionRow,
    /// Messages of this lineage before this one.
    below: MessageId,
}

impl Readers {
    pub(crate) async fn context(&self, session: SessionId, limit: u32) -> StoreResult<Context> {
        let mut context = Context::default();
        let Some(session) = self.session(session).await? else {
            return Ok(context);
        };
        // Newest first until the end.
        let mut found: Vec<MessageRow> = Vec::new();
        // What was kept beside the summary of a later session begins here.
        let mut kept: Option<MessageId> = None;
        let below = MessageId::from_number(u64::MAX);
        let mut next = Some(View { session, below });
        for _ in 0..DEPTH {
            let Some(view) = next.take() else { break };
            let is_summarized = kept.is_none() && view.session.summary.is_some();
            if is_summarized {
                kept = view.session.kept_from;
                context.summary.clone_from(&view.session.summary);
            }
            let room = limit.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
            found.extend(self.seen(&view, kept, room).await?);
            if !is_summarized || kept.is_some() {
                next = self.before(&view, kept).await?;
            }
        }
        found.reverse();
        context.messages = found;
        Ok(context)
    }

    async fn seen(
        &self,
        view: &View,
        kept: Option<MessageId>,
        room: u32,
    ) -> StoreResult<Vec<MessageRow>> {
        if room == 0 {
            return Ok(Vec::new());
        }
        let session = &view.session;
        match kept {
            Some(kept) => {
                let values = values![
                    session.conversation,
                    session.lineage,
                    kept,
                    view.below,
                    room
                ];
                self.all(KEPT, values, rows::message).await
            }
            None => {
                self.all(OWN, values![session.id, view.below, room], rows::message)
                    .await
            }
        }
    }

    /// The session that this one's lineage was branched from, as it was then; `None` if nothing of it is seen.
    async fn before(&self, view: &View, kept: Option<MessageId>) -> StoreResult<Option<View>> {
        let session = &view.session;
        let root = match session.continues {
            None => Some(session.clone()),
            Some(_) => {
                self.one(
                    ROOT,
                    values![session.conversation, session.lineage],
                    rows::session,
                )
                .await?
            }
        };
        let Some(root) = root else { return Ok(None) };
        let Some(parent) = root.parent else {
            return Ok(None);
        };
        // Ids of a store grow, whatever they name: what was said before the branch has a smaller one.
        let below = MessageId::from_number(root.id.number()).min(view.below);
        if kept.is_some_and(|kept| kept >= below) {
            return Ok(None);
        }
        let of_a_sub_agent = self
            .one(
                OF_A_SUB_AGENT,
                values![root.conversation, root.id],
                |fields| fields.take::<i64>(),
            )
            .await?;
        if of_a_sub_agent.is_some() {
            return Ok(None);
        }
        Ok(self
            .session(parent)
            .await?
            .map(|session| View { session, below }))
    }
}
