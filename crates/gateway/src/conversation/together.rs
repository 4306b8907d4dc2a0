//! Several messages that a person sent as one: an album, a long text that a client had to cut.
//!
//! **Invariant:** a message with its parts stands where its first part stands, and is not read before it is whole. What a restart finds is in the
//! rows: nothing of it is remembered.
//! **Absent on purpose:** the end of waiting. The conversation's timer asks again when the newest part is old enough.

use std::time::Duration;

use homing_domain::ids::InboundId;
use homing_domain::time::Timestamp;
use homing_ports::store::InboundRow;

/// What a person wrote: one message, or all parts of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The first part, with the texts and files of all.
    pub row: InboundRow,
    /// The parts after it.
    pub others: Vec<InboundId>,
    /// A part may still come until then.
    pub whole_at: Option<Timestamp>,
}

impl Written {
    pub fn parts(&self) -> impl Iterator<Item = InboundId> + '_ {
        std::iter::once(self.row.id).chain(self.others.iter().copied())
    }

    fn alone(row: InboundRow) -> Self {
        let whole_at = whole_at(&row);
        Self {
            row,
            others: Vec::new(),
            whole_at,
        }
    }

    fn takes(&self, part: &InboundRow) -> bool {
        let group = |row: &InboundRow| row.together.as_ref().map(|together| together.group.clone());
        group(&self.row).is_some()
            && group(&self.row) == group(part)
            // A group's name is the platform's; whose it is, is not a matter of names.
            && self.row.origin.user == part.origin.user
            && self.row.origin.account_name() == part.origin.account_name()
    }

    fn take(&mut self, part: InboundRow) {
        let joined_by = part
            .together
            .as_ref()
            .map(|together| together.joined_by.as_str());
        if !self.row.text.is_empty() && !part.text.is_empty() {
            self.row.text.push_str(joined_by.unwrap_or_default());
        }
        self.row.text.push_str(&part.text);
        self.whole_at = self.whole_at.max(whole_at(&part));
        self.row.attempts = self.row.attempts.max(part.attempts);
        self.row.attachments.extend(part.attachments);
        self.row.quoted = self.row.quoted.take().or(part.quoted);
        self.others.push(part.id);
    }
}

fn whole_at(row: &InboundRow) -> Option<Timestamp> {
    let together = row.together.as_ref()?;
    let wait = Duration::from_millis(together.whole_after_ms);
    Some(row.received_at.plus(wait))
}

/// Messages with their parts, in order.
pub(super) fn join(waiting: impl IntoIterator<Item = InboundRow>) -> Vec<Written> {
    let mut all: Vec<Written> = Vec::new();
    for row in waiting {
        match all.iter_mut().find(|written| written.takes(&row)) {
            Some(written) => written.take(row),
            None => all.push(Written::alone(row)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use homing_domain::ids::ConversationId;
    use homing_domain::key::SessionKey;
    use homing_domain::origin::Origin;
    use homing_ports::inbox::Together;
    use homing_ports::platform::Attachment;

    fn row(id: u64, text: &str, group: Option<&str>) -> InboundRow {
        let key: SessionKey = "agent:main:telegram:dm:5".parse().unwrap();
        InboundRow {
            id: InboundId::from_number(id),
            conversation: ConversationId::from_number(1),
            origin: Origin::from_key(&key),
            author: None,
            text: text.into(),
            window: None,
            turn: None,
            received_at: Timestamp(id.try_into().unwrap()),
            attempts: 0,
            quoted: None,
            attachments: vec![Attachment {
                name: Some(text.into()),
                media_type: None,
                bytes: None,
                reference: "r".into(),
                first_came_with: None,
            }],
            together: group.map(|group| Together {
                group: group.into(),
                whole_after_ms: 100,
                joined_by: "+".into(),
            }),
        }
    }

    #[test]
    fn parts_become_one_message_at_the_place_of_the_first() {
        let all = join([
            row(1, "a", Some("g")),
            row(2, "between", None),
            row(3, "", Some("g")),
            row(4, "b", Some("g")),
            row(5, "c", Some("h")),
        ]);
        let texts: Vec<&str> = all.iter().map(|one| one.row.text.as_str()).collect();
        assert_eq!(texts, ["a+b", "between", "c"]);
        let parts: Vec<u64> = all[0].parts().map(|id| id.number()).collect();
        assert_eq!(parts, [1, 3, 4]);
        let files: Vec<_> = all[0]
            .row
            .attachments
            .iter()
            .map(|one| one.name.clone().unwrap())
            .collect();
        assert_eq!(files, ["a", "", "b"]);
        // The newest part counts.
        assert_eq!(all[0].whole_at, Some(Timestamp(104)));
        assert_eq!(all[1].whole_at, None);
    }

    #[test]
    fn two_people_never_share_a_message() {
        let mut other = row(2, "b", Some("g"));
        other.origin.user = Some("u2".into());
        assert_eq!(join([row(1, "a", Some("g")), other]).len(), 2);
    }
}
