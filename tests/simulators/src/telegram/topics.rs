//! Topics come, change and go, by people and by bots alike.
//!
//! **Invariant:** every change but deletion leaves a service message, and nothing changes to what it was already.

use serde_json::{Value, json};

use super::ids::{Chat, MessageId, ThreadId, UserId};
use super::room::{Message, Room, Topic};
use super::wishes::{Impossible, TopicEvent};
use super::world::World;

/// What nobody chose: the colour of a new topic.
pub(super) const DEFAULT_COLOUR: i64 = 7_322_096;

/// A change that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoChange {
    NoTopic,
    Deleted,
    AsBefore,
}

#[derive(Debug)]
pub(super) struct NewTopic {
    pub name: String,
    pub icon_color: i64,
    pub icon: Option<String>,
    /// The name is a placeholder that the bot is expected to replace.
    pub implicit: bool,
}

impl World {
    pub fn create_topic(
        &mut self,
        by: UserId,
        key: Chat,
        new: NewTopic,
    ) -> Result<ThreadId, Impossible> {
        let mut event = json!({"name": new.name, "icon_color": new.icon_color});
        if let Some(icon) = &new.icon {
            event["icon_custom_emoji_id"] = json!(icon);
        }
        if new.implicit {
            event["is_name_implicit"] = json!(true);
        }
        let room = self.room_mut(key)?;
        let thread = ThreadId::from(room.next_message());
        let mut message = Message::service(by, World::now(), "forum_topic_created", event);
        message.thread = Some(thread);
        let id = room.add(message);
        let topic = Topic {
            name: new.name,
            icon: new.icon,
            creator: by,
            closed: false,
            deleted: false,
        };
        room.topics.insert(thread, topic);
        self.announce(key, id);
        Ok(thread)
    }

    /// Changes a topic, or General. Whoever does it may do it.
    pub fn change_topic(
        &mut self,
        by: UserId,
        key: Chat,
        thread: Option<ThreadId>,
        event: &TopicEvent,
        icon: Option<&str>,
    ) -> Result<(), NoChange> {
        let room = self.rooms.get_mut(&key).ok_or(NoChange::NoTopic)?;
        let said = match thread {
            None => change_general(room, event)?,
            Some(thread) => {
                let topic = room.topics.get_mut(&thread).ok_or(NoChange::NoTopic)?;
                if topic.deleted {
                    return Err(NoChange::Deleted);
                }
                change(topic, event, icon)?
            }
        };
        if *event == TopicEvent::Deleted {
            delete_messages(room, thread);
        }
        for (field, value) in said {
            let mut message = Message::service(by, World::now(), field, value);
            message.thread = thread;
            let id = self
                .rooms
                .get_mut(&key)
                .ok_or(NoChange::NoTopic)?
                .add(message);
            self.announce(key, id);
        }
        Ok(())
    }

    /// A person's topic in a channel's direct messages; made when first needed.
    pub fn direct_topic(&mut self, key: Chat, person: UserId) -> Result<ThreadId, Impossible> {
        let room = self.room(key)?;
        let known = room
            .topics
            .iter()
            .find(|(_, topic)| topic.creator == person);
        if let Some((thread, _)) = known {
            return Ok(*thread);
        }
        let thread = self.next_direct_topic();
        let topic = Topic {
            name: String::new(),
            icon: None,
            creator: person,
            closed: false,
            deleted: false,
        };
        self.room_mut(key)?.topics.insert(thread, topic);
        Ok(thread)
    }
}

type Said = Vec<(&'static str, Value)>;

fn change(topic: &mut Topic, event: &TopicEvent, icon: Option<&str>) -> Result<Said, NoChange> {
    match event {
        TopicEvent::Renamed(name) => {
            let icon = icon.filter(|icon| topic.icon.as_deref().unwrap_or_default() != *icon);
            let name = (!name.is_empty() && topic.name != *name).then_some(name);
            if name.is_none() && icon.is_none() {
                return Err(NoChange::AsBefore);
            }
            let mut said = json!({});
            if let Some(name) = name {
                topic.name.clone_from(name);
                said["name"] = json!(name);
            }
            if let Some(icon) = icon {
                topic.icon = Some(icon.to_owned());
                said["icon_custom_emoji_id"] = json!(icon);
            }
            Ok(vec![("forum_topic_edited", said)])
        }
        TopicEvent::Closed => {
            set(&mut topic.closed, true)?;
            Ok(vec![("forum_topic_closed", json!({}))])
        }
        TopicEvent::Reopened => {
            set(&mut topic.closed, false)?;
            Ok(vec![("forum_topic_reopened", json!({}))])
        }
        TopicEvent::Deleted => {
            topic.deleted = true;
            Ok(Vec::new())
        }
        TopicEvent::Hidden | TopicEvent::Unhidden => Err(NoChange::NoTopic),
    }
}

fn change_general(room: &mut Room, event: &TopicEvent) -> Result<Said, NoChange> {
    let general = &mut room.general;
    let said = match event {
        TopicEvent::Renamed(name) => {
            if general.name == *name {
                return Err(NoChange::AsBefore);
            }
            general.name.clone_from(name);
            ("forum_topic_edited", json!({"name": name}))
        }
        TopicEvent::Closed => {
            set(&mut general.closed, true)?;
            ("forum_topic_closed", json!({}))
        }
        TopicEvent::Reopened => {
            set(&mut general.closed, false)?;
            ("forum_topic_reopened", json!({}))
        }
        // What is hidden is closed as well, and stays so when it is shown again.
        TopicEvent::Hidden => {
            set(&mut general.hidden, true)?;
            general.closed = true;
            ("general_forum_topic_hidden", json!({}))
        }
        TopicEvent::Unhidden => {
            set(&mut general.hidden, false)?;
            ("general_forum_topic_unhidden", json!({}))
        }
        TopicEvent::Deleted => return Err(NoChange::NoTopic),
    };
    Ok(vec![said])
}

fn set(flag: &mut bool, to: bool) -> Result<(), NoChange> {
    if *flag == to {
        return Err(NoChange::AsBefore);
    }
    *flag = to;
    Ok(())
}

/// What is in a deleted topic goes with it.
fn delete_messages(room: &mut Room, thread: Option<ThreadId>) {
    let root = thread.map(MessageId::from);
    for message in room.messages.values_mut() {
        if thread.is_some() && (message.thread == thread || Some(message.id) == root) {
            message.deleted = true;
        }
    }
}
