//! The facts that an `expect` step is compared with.

use std::collections::BTreeMap;

use homing_domain::ids::ProcessId;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{Queries as _, Source};

use super::{Failure, Scene, Seen};
use crate::compare::{self, SeenPost, SeenState, SeenTurn};
use crate::model::{Expect, PostKind};
use crate::platforms::Posted;
use crate::protocol::{Answer, Request};

impl Scene {
    pub(super) async fn expect(&mut self, expect: &Expect) -> Result<(), Failure> {
        self.settle(None)
            .await
            .map_err(|why| format!("expected {why}"))?;
        let now = Seen {
            sent: self.platforms.mark(),
            turns: self.told.turn_count(),
        };
        let seen = std::mem::replace(&mut self.seen, now);
        let sent = self.platforms.posted_since(seen.sent, &self.told.handed());
        let mut differences = Vec::new();
        differences.extend(unasked(&sent));
        differences.extend(self.platforms.problems());
        if let Some(turns) = &expect.turns {
            differences.extend(compare::turns(
                turns,
                &self.turns_since(seen.turns),
                &self.sessions,
            ));
        }
        if let Some(posts) = &expect.posts {
            let posts: Vec<_> = posts
                .iter()
                .cloned()
                .map(|post| compare::filled(post, |text| self.filled(text)))
                .collect();
            differences.extend(compare::posts(&posts, &self.posts(&sent)));
        }
        if let Some(answers) = &expect.answers {
            let seen = self.answers(&sent);
            let counts = seen
                .iter()
                .map(|(at, texts)| (at.clone(), texts.len()))
                .collect();
            differences.extend(compare::answers(answers, &counts));
            differences.extend(compare::answered(answers, &seen));
        }
        if let Some(states) = &expect.states {
            let seen = self
                .states(states.keys())
                .await
                .map_err(|why| format!("expected {why}"))?;
            differences.extend(compare::states(states, &seen));
        }
        if let Some(alive) = &expect.alive {
            let seen = self
                .alive()
                .await
                .map_err(|why| format!("expected {why}"))?;
            differences.extend(compare::alive(alive, &seen));
        }
        if let Some(session) = &expect.session {
            let seen = self
                .current_session(&session.at)
                .await
                .map_err(|why| format!("expected {why}"))?;
            differences.extend(compare::session(session, seen, &self.sessions));
        }
        if let Some(reply) = &expect.reply {
            let wanted: Vec<String> = reply.has.iter().map(|text| self.filled(text)).collect();
            differences.extend(compare::reply(&wanted, &self.reply()));
        }
        if differences.is_empty() {
            Ok(())
        } else {
            Err(differences.join("; "))
        }
    }

    fn turns_since(&self, index: usize) -> Vec<SeenTurn> {
        let turns = self.told.turns_since(index).into_iter();
        let seen = turns.map(|turn| SeenTurn {
            at: turn.at,
            session: turn.session,
            about: turn.about.iter().map(|id| self.name_of(id)).collect(),
        });
        seen.collect()
    }

    fn posts(&self, sent: &[Posted]) -> Vec<SeenPost> {
        let posts = sent.iter().filter_map(|sent| {
            let kind = match sent.kind? {
                OutgoingKind::Background => PostKind::Answer,
                OutgoingKind::Notice => PostKind::Notice,
                OutgoingKind::Answer | OutgoingKind::Reply => return None,
            };
            let window = sent.window.map(|id| {
                let label = self
                    .windows
                    .iter()
                    .find(|(_, window)| **window == id)
                    .map(|(label, _)| label.clone());
                label.unwrap_or_else(|| id.to_string())
            });
            Some(SeenPost {
                at: sent.origin.key(self.plan.keys),
                kind,
                window,
                text: sent.text.clone(),
            })
        });
        posts.collect()
    }

    fn answers(&self, sent: &[Posted]) -> BTreeMap<String, Vec<String>> {
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for sent in sent
            .iter()
            .filter(|sent| matches!(sent.kind, Some(OutgoingKind::Answer | OutgoingKind::Reply)))
        {
            let at = sent.origin.key(self.plan.keys).to_string();
            texts.entry(at).or_default().push(sent.text.clone());
        }
        texts
    }

    /// What the last command was answered, parts joined.
    fn reply(&self) -> String {
        let Some((at, mark)) = &self.last_command else {
            return String::new();
        };
        let replies = self
            .platforms
            .posted_since(*mark, &self.told.handed())
            .into_iter()
            .filter(|sent| {
                sent.kind == Some(OutgoingKind::Reply) && sent.origin.key(self.plan.keys) == *at
            });
        let texts: Vec<String> = replies.map(|sent| sent.text).collect();
        texts.join("\n")
    }

    /// The newest notification of each.
    async fn states(
        &self,
        names: impl Iterator<Item = &String>,
    ) -> Result<BTreeMap<String, SeenState>, Failure> {
        let store = self.store().await?;
        let mut states = BTreeMap::new();
        for name in names {
            let process = self
                .processes
                .get(name)
                .map(|started| Source::Process(started.process));
            let delegation = self.delegations.get(name).map(|id| Source::Delegation(*id));
            let Some(source) = process.or(delegation) else {
                return Err(format!("{name}, seen no such process or delegation"));
            };
            let rows = store.notifications_of(source).await;
            let rows = rows.map_err(|error| format!("a store that answers, seen {error}"))?;
            let newest = rows.into_iter().max_by_key(|row| (row.created_at, row.id));
            states.insert(name.clone(), newest.map(|row| (row.state, row.reason)));
        }
        Ok(states)
    }

    async fn alive(&mut self) -> Result<Vec<String>, Failure> {
        if self.gateway.is_none() {
            return Ok(self
                .processes
                .keys()
                .filter(|label| self.steering.runs(label))
                .cloned()
                .collect());
        }
        let all: Vec<ProcessId> = self
            .processes
            .values()
            .map(|process| process.process)
            .collect();
        match self.ask(Request::Alive(all)).await? {
            Answer::Alive(alive) => Ok(alive
                .iter()
                .map(|id| self.name_of(&id.to_string()))
                .collect()),
            other => Err(format!("what is alive, seen {other:?}")),
        }
    }
}

/// Messages that a platform has and that nobody in the gateway sent.
fn unasked(sent: &[Posted]) -> Vec<String> {
    let unasked = sent.iter().filter(|sent| sent.kind.is_none());
    unasked
        .map(|sent| {
            format!(
                "expected no message of the adapter's own, seen {:?}",
                sent.text
            )
        })
        .collect()
}
