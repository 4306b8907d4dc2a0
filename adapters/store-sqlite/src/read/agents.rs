//! What an agent looks for in a conversation, what it used, and what a person was asked.

use homing_domain::ids::*;
use homing_ports::store::*;

use super::Readers;
use crate::columns;
use crate::rows;
use crate::values::values;

const PAGE: &str = concat!(
    "SELECT ",
    columns::message!("m."),
    " FROM messages m WHERE m.conversation = ? AND m.id < ? AND m.undone = 0 ORDER BY m.id DESC LIMIT ? + 0"
);
const USAGE: &str = "SELECT coalesce(sum(requests), 0), coalesce(sum(prompt_tokens), 0), coalesce(sum(cached_tokens), 0), \
     coalesce(sum(completion_tokens), 0) FROM turns INDEXED BY turns_with_usage WHERE requests > 0 AND lineage IN \
     (SELECT l.id FROM lineages l WHERE l.id = ? UNION ALL SELECT d.own_lineage FROM lineages l \
     JOIN delegations d INDEXED BY delegations_of_conversation ON d.conversation = l.conversation AND d.lineage = l.id WHERE l.id = ?)";
const BATCH: &str = concat!(
    "SELECT ",
    columns::delegation!(""),
    " FROM delegations INDEXED BY delegations_of_batch WHERE batch = ? ORDER BY id"
);
const OPEN_APPROVALS: &str = concat!(
    "SELECT ",
    columns::approval!(""),
    " FROM approvals INDEXED BY approvals_open WHERE conversation = ? AND settled_at IS NULL ORDER BY id"
);
const APPROVAL: &str = concat!(
    "SELECT ",
    columns::approval!(""),
    " FROM approvals WHERE id = ?"
);
const APPROVED: &str = "SELECT 1 FROM approvals INDEXED BY approvals_standing WHERE conversation = ? AND command = ? \
     AND state IN ('approved_for_session', 'approved_always') AND person IS ? AND (state = 'approved_always' OR lineage = ?) LIMIT 1";

#[cfg(test)]
pub(super) const HOT: &[&str] = &[PAGE, USAGE, BATCH, OPEN_APPROVALS, APPROVAL, APPROVED];

/// Messages that one step of a search looks at, and how many it looks at in all, newest first.
const SEARCH_PAGE: u32 = 500;
const SEARCH_PAGES: u32 = 200;

impl Readers {
    /// Looked for in this conversation's own messages, newest first, a page at a time: how long that takes depends on nobody else's.
    pub(crate) async fn search_history(
        &self,
        conversation: ConversationId,
        words: &str,
        limit: u32,
    ) -> StoreResult<Vec<MessageRow>> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let mut found = Vec::new();
        let mut before = MessageId::from_number(u64::MAX);
        for _ in 0..SEARCH_PAGES {
            if words.is_empty() {
                break;
            }
            let page = self
                .all(
                    PAGE,
                    values![conversation, before, SEARCH_PAGE],
                    rows::message,
                )
                .await?;
            let Some(last) = page.last() else { break };
            before = last.id;
            found.extend(page.into_iter().filter_map(|message| {
                let text = message.text.to_lowercase();
                let counts: Vec<usize> = words
                    .iter()
                    .map(|word| text.matches(word.as_str()).count())
                    .collect();
                let all = counts.iter().all(|count| *count > 0);
                all.then(|| (counts.iter().sum::<usize>(), message))
            }));
        }
        // Stable: of equals the newest comes first.
        found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(found
            .into_iter()
            .take(limit)
            .map(|(_, message)| message)
            .collect())
    }

    pub(crate) async fn usage(&self, lineage: LineageId) -> StoreResult<Usage> {
        let usage = self
            .one(USAGE, values![lineage, lineage], |fields| {
                Ok(Usage {
                    requests: fields.count()?,
                    prompt_tokens: fields.count()?,
                    cached_tokens: fields.count()?,
                    completion_tokens: fields.count()?,
                })
            })
            .await?;
        Ok(usage.unwrap_or_default())
    }

    pub(crate) async fn batch(&self, first: DelegationId) -> StoreResult<Vec<DelegationRow>> {
        self.all(BATCH, values![first], rows::delegation).await
    }

    pub(crate) async fn open_approvals(
        &self,
        conversation: ConversationId,
    ) -> StoreResult<Vec<ApprovalRow>> {
        self.all(OPEN_APPROVALS, values![conversation], rows::approval)
            .await
    }

    pub(crate) async fn approval(&self, id: ApprovalId) -> StoreResult<Option<ApprovalRow>> {
        self.one(APPROVAL, values![id], rows::approval).await
    }

    pub(crate) async fn is_approved(
        &self,
        lineage: LineageId,
        conversation: ConversationId,
        person: Option<&str>,
        command: &str,
    ) -> StoreResult<bool> {
        let found = self
            .one(
                APPROVED,
                values![conversation, command, person, lineage],
                |fields| fields.take::<i64>(),
            )
            .await?;
        Ok(found.is_some())
    }
}
