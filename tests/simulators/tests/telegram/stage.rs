//! A world with a bot, Alice, and a forum, and a client that knows nothing.

use std::time::Duration;

use homing_simulators::telegram::{Bot, Chat, NewBot, NewUser, Server, Settings, Standing, UserId};
use serde_json::{Value, json};

/// Nothing here takes as long; what does has failed.
pub const LIMIT: Duration = Duration::from_secs(20);

pub struct Stage {
    pub server: Server,
    pub bot: Bot,
    pub api: Api,
    pub alice: UserId,
}

/// A client of one bot.
#[derive(Clone)]
pub struct Api {
    pub client: reqwest::Client,
    pub root: String,
    pub token: String,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    pub fn description(&self) -> &str {
        self.body["description"].as_str().unwrap_or_default()
    }
}

impl Stage {
    /// A bot in privacy mode, whose private chats have no topics.
    pub async fn new() -> Stage {
        Stage::with(Settings::default(), NewBot::named("test_bot")).await
    }

    pub async fn with(settings: Settings, bot: NewBot) -> Stage {
        let server = Server::start(settings).await.expect("it starts");
        let bot = server.bot(bot);
        let alice = server.user(NewUser::named("Alice").username("alice"));
        let api = Api::of(&server, &bot);
        Stage {
            server,
            bot,
            api,
            alice,
        }
    }

    pub fn private(&self) -> Chat {
        self.server.private_chat(&self.bot, self.alice)
    }

    /// A forum where the bot is a member without rights.
    pub fn forum(&self) -> Chat {
        let forum = self.server.forum("Forum", &[self.alice]);
        self.server
            .admit(forum, self.bot.id, Standing::Member)
            .expect("the forum is there");
        forum
    }

    /// A forum where the bot may do these things.
    pub fn forum_with(&self, rights: &[&str]) -> Chat {
        let forum = self.server.forum("Forum", &[self.alice]);
        let standing = Standing::administrator(rights.iter().copied());
        self.server
            .admit(forum, self.bot.id, standing)
            .expect("the forum is there");
        forum
    }

    /// What the method answers; it must be taken, and follow the schema.
    pub async fn ok(&self, method: &str, params: Value) -> Value {
        let answer = self.api.call(method, params).await;
        assert_eq!(answer.status, 200, "{method}: {answer:?}");
        assert_eq!(answer.body["ok"], true);
        let result = answer.body["result"].clone();
        let problem = self.server.problem_of_answer(method, &result);
        assert_eq!(problem, None, "the simulator answers {method} wrongly");
        result
    }

    /// The status and description of the refusal.
    pub async fn refused(&self, method: &str, params: Value) -> (u16, String) {
        let answer = self.api.call(method, params).await;
        assert_eq!(answer.body["ok"], false, "{method}: {answer:?}");
        assert_eq!(answer.body["error_code"], answer.status);
        (answer.status, answer.description().to_owned())
    }

    /// All updates that wait, each as the schema wants it; they are confirmed.
    pub async fn updates(&self) -> Vec<Value> {
        let updates = self.ok("getUpdates", json!({})).await;
        let updates = updates.as_array().expect("a list").clone();
        for update in &updates {
            assert_eq!(self.server.problem_of_update(update), None, "{update}");
        }
        if let Some(last) = updates.last() {
            let offset = last["update_id"].as_i64().expect("a number") + 1;
            self.ok("getUpdates", json!({"offset": offset})).await;
        }
        updates
    }

    /// The only message that waits.
    pub async fn one_message(&self) -> Value {
        let updates = self.updates().await;
        let [update] = updates.as_slice() else {
            panic!("one update was expected, not {updates:?}");
        };
        update["message"].clone()
    }

    pub fn assert_no_violations(&self) {
        assert_eq!(self.server.violations(), []);
    }
}

impl Api {
    pub fn of(server: &Server, bot: &Bot) -> Api {
        let client = reqwest::Client::builder()
            .no_proxy()
            .timeout(LIMIT)
            .build()
            .expect("a client");
        Api {
            client,
            root: server.url(),
            token: bot.token.clone(),
        }
    }

    pub fn url(&self, method: &str) -> String {
        format!("{}/bot{}/{method}", self.root, self.token)
    }

    pub async fn call(&self, method: &str, params: Value) -> Answer {
        self.try_call(method, params).await.expect("an answer")
    }

    pub async fn try_call(&self, method: &str, params: Value) -> reqwest::Result<Answer> {
        let request = self.client.post(self.url(method)).json(&params);
        read(request.send().await?).await
    }
}

pub async fn read(response: reqwest::Response) -> reqwest::Result<Answer> {
    let status = response.status().as_u16();
    Ok(Answer {
        status,
        body: response.json().await?,
    })
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}
