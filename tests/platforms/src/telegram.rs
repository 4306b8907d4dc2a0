//! Telegram as the suite sees it: the adapter, and the strict simulator of the Bot API.

mod world;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homing_domain::origin::AccountName;
use homing_simulators::telegram::{
    self as simulator, Bot, Chat, MessageId, NewBot, NewUser, Outcome, Post, Server, Standing,
    TopicEvent, UserId,
};
use homing_telegram::{
    Budgets, ChatRule, Mode, Pace, Rate, Secret, ServeError, Telegram, TelegramSettings, Token,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::kept::limit;
use crate::relay::Relay;
use crate::world::{Kind, Need, Spot, World};

/// By one of the two ways in which updates come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TelegramKind {
    Polling,
    /// Sends are the same there; they are judged once, with polling.
    Webhook,
}

const SECRET: &str = "a-webhook_secret-0123456789";

#[async_trait]
impl Kind for TelegramKind {
    async fn world(&self) -> Box<dyn World> {
        Box::new(TelegramWorld::new(*self).await)
    }

    fn has(&self, need: Need) -> bool {
        let polls = *self == TelegramKind::Polling;
        match need {
            Need::Deduplicates | Need::LooksUp => false,
            // A webhook gets the updates of one chat one after the other.
            Need::Reorders | Need::PollTroubles => polls,
            Need::At(_)
            | Need::Attachments
            | Need::Albums
            | Need::Pastes
            | Need::Replies
            | Need::Edits
            | Need::Repeats
            | Need::Unreadable => true,
            Need::Sends
            | Need::Unprotected
            | Need::TakesBack
            | Need::Typing
            | Need::Previews
            | Need::Buttons
            | Need::Files
            | Need::Closing
            | Need::Deleting
            | Need::Moving
            | Need::Removing
            | Need::Misplacing
            | Need::RateLimits
            | Need::ServerErrors
            | Need::AnswersLost
            | Need::Resets
            | Need::Silences
            | Need::Slowness
            | Need::Formatting
            | Need::Secrets => polls,
        }
    }
}

/// A bot in every kind of chat that Telegram has.
#[derive(Debug)]
pub struct TelegramWorld {
    pub server: Arc<Server>,
    pub bot: Bot,
    kind: TelegramKind,
    relay: Relay,
    alice: UserId,
    private: Chat,
    private_topic: simulator::Place,
    group: Chat,
    /// Its number when the rules were written.
    first_group: Chat,
    forum: Chat,
    topic: simulator::Place,
    channel: Chat,
    direct: Chat,
    state: TempDir,
    /// Where updates are brought to.
    hook: SocketAddr,
    adapter: Option<Arc<Telegram>>,
    serving: Option<(JoinHandle<Result<(), ServeError>>, CancellationToken)>,
}

impl TelegramWorld {
    pub async fn new(kind: TelegramKind) -> TelegramWorld {
        let settings = simulator::Settings {
            pace: simulator::Pace {
                // Polls that nothing comes of and retries of webhooks take so many of these.
                second: Duration::from_millis(200),
                ..simulator::Pace::default()
            },
            ..simulator::Settings::default()
        };
        let server = Server::start(settings).await.unwrap();
        let bot = server.bot(
            NewBot::named("homing_bot")
                .reading_all()
                .with_private_topics(),
        );
        let alice = server.user(NewUser::named("Alice").username("alice"));
        let private = server.private_chat(&bot, alice);
        let group = server.group("Group", &[alice]);
        let forum = server.forum("Forum", &[alice]);
        let channel = server.channel("Channel", &[alice]);
        let direct = server.direct_messages("Channel's post", &[alice]);
        // Before the bot can hear it: what a person writes to a channel is in a topic that is made then.
        server.post(alice, direct, "before the bot came").unwrap();
        for (chat, standing) in [
            (group, Standing::Member),
            (forum, Standing::Member),
            (
                channel,
                Standing::administrator(["can_post_messages", "can_edit_messages"]),
            ),
            (
                direct,
                Standing::administrator(["can_manage_direct_messages"]),
            ),
        ] {
            server.admit(chat, bot.id, standing).unwrap();
        }
        let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        TelegramWorld {
            private_topic: server.topic(alice, private, "Plans").unwrap(),
            topic: server.topic(alice, forum, "Builds").unwrap(),
            kind,
            relay: Relay::to(&server.url()),
            alice,
            private,
            group,
            first_group: group,
            forum,
            channel,
            direct,
            state: tempfile::tempdir().unwrap(),
            hook: free.local_addr().unwrap(),
            adapter: None,
            serving: None,
            server: Arc::new(server),
            bot,
        }
    }

    fn settings(&self) -> TelegramSettings {
        let chats = [self.first_group, self.forum, self.channel, self.direct];
        let plenty = Rate {
            messages: 100_000,
            per: Duration::from_secs(1),
        };
        let quick = Duration::from_millis(10);
        TelegramSettings {
            account: AccountName {
                profile: "main".into(),
                platform: "telegram".into(),
                account: None,
            },
            token: Token::new(&self.bot.token).unwrap(),
            api_url: self.relay.url().parse().unwrap(),
            mode: match self.kind {
                TelegramKind::Polling => Mode::Polling,
                TelegramKind::Webhook => Mode::Webhook {
                    public_url: format!("http://{}/telegram", self.hook).parse().unwrap(),
                    listen: self.hook,
                    secret: Secret(SECRET.into()),
                },
            },
            people: vec![self.alice.0],
            chats: chats
                .map(|chat| ChatRule {
                    chat: chat.id.0,
                    topic: None,
                    require_mention: None,
                })
                .to_vec(),
            require_mention: false,
            commands: Vec::new(),
            budgets: Budgets {
                per_chat: plenty,
                per_group: plenty,
                overall: plenty,
            },
            state: self.state.path().join("telegram"),
            previews: true,
            pace: Pace {
                poll: Duration::from_secs(5),
                answer: Duration::from_secs(4),
                first_wait: quick,
                longest_wait: quick * 10,
                first_conflict_wait: quick,
                longest_conflict_wait: quick * 10,
                ..Pace::default()
            },
        }
    }

    pub fn at(&self, spot: Spot) -> simulator::Place {
        match spot {
            Spot::Private => self.private.into(),
            Spot::PrivateTopic => self.private_topic,
            Spot::Group => self.group.into(),
            Spot::General => self.forum.into(),
            Spot::Topic => self.topic,
            Spot::Channel => self.channel.into(),
            Spot::Direct => self.direct.into(),
        }
    }

    fn post(&self, spot: Spot, post: Post) -> MessageId {
        self.server.post(self.alice, self.at(spot), post).unwrap()
    }

    fn topic_event(&self, spot: Spot, event: TopicEvent) {
        let done = self.server.topic_event(self.alice, self.at(spot), event);
        done.unwrap();
    }

    /// Not the short one that only looks whether somebody answers.
    async fn poll_is_waiting(&self) {
        let waiting = |server: &Server| {
            let requests = server.requests();
            let mut polls = requests
                .iter()
                .rev()
                .filter(|request| request.method == "getUpdates");
            let last = polls.next()?;
            let waits = last.outcome == Outcome::Open && last.params["timeout"] != 0;
            waits.then_some(())
        };
        self.server.wait_for(limit(), waiting).await.unwrap();
    }

    /// Another program with this token sets a webhook. Once our polls were told of it in both ways, it takes it away.
    async fn webhook_of_another(&self) {
        self.poll_is_waiting().await;
        let before = conflicts(&self.server);
        let bot = format!("{}/bot{}", self.server.url(), self.bot.token);
        another_program(
            &bot,
            "setWebhook",
            json!({"url": "http://127.0.0.1:9/nowhere"}),
        )
        .await;
        let server = Arc::clone(&self.server);
        tokio::spawn(async move {
            let told = |server: &Server| (conflicts(server) >= before + 2).then_some(());
            server.wait_for(limit(), told).await.unwrap();
            another_program(&bot, "deleteWebhook", json!({})).await;
        });
    }
}

fn conflicts(server: &Server) -> usize {
    let refused = |request: &simulator::Request| {
        matches!(&request.outcome, Outcome::Refused { status: 409, .. })
    };
    server
        .requests()
        .iter()
        .filter(|request| refused(request))
        .count()
}

async fn another_program(bot: &str, method: &str, params: Value) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{bot}/{method}")).json(&params);
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
}
