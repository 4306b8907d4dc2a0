//! The real program as a bot in a forum, against the strict simulator of the Bot API.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use homing_simulators::telegram::{Bot, Chat, NewBot, Place, Post, Sent, Server, Settings, UserId};
use homing_whole::{Running, TestFolder, homing};

const PATIENCE: Duration = Duration::from_secs(30);

struct World {
    server: Server,
    bot: Bot,
    ann: UserId,
    forum: Chat,
    builds: Place,
    folder: TestFolder,
    settings: [String; 2],
}

impl World {
    async fn new() -> World {
        let server = Server::start(Settings::default()).await.unwrap();
        let bot = server.bot(NewBot {
            reads_all: true,
            ..NewBot::named("homing_bot")
        });
        let ann = server.user("Ann");
        let forum = server.forum("Team", &[ann, bot.id]);
        let builds = server.topic(ann, forum, "Builds").unwrap();
        let folder = TestFolder::new();
        let token = folder.secret("token", &bot.token);
        let settings = folder.settings(&format!(
            "[telegram]\ntoken = {{ file = {:?} }}\napi_url = {:?}\npeople = [{ann}]\n\
             [[telegram.chats]]\nchat = {}\nrequire_mention = false\n\
             [notifications]\nhome = \"agent:main:console:dm:local:home\"\n",
            token.display().to_string(),
            server.url(),
            forum.id,
        ));
        World {
            server,
            bot,
            ann,
            forum,
            builds,
            folder,
            settings,
        }
    }

    async fn start(&self) -> Running {
        Running::start_with(&self.folder, &[&self.settings[0], &self.settings[1]]).await
    }

    fn says(&self, place: impl Into<Place>, text: &str) {
        self.server.post(self.ann, place, Post::text(text)).unwrap();
    }

    async fn answered(&self, part: &str) -> Sent {
        let found = self.server.wait_for(PATIENCE, |server| {
            server
                .sent()
                .into_iter()
                .find(|sent| sent.text.contains(part))
        });
        found
            .await
            .unwrap_or_else(|_| panic!("`{part}` was never sent: {:?}", self.server.sent()))
    }

    /// What was sent validates, and the token is nowhere.
    fn is_sound(&self) {
        let violations = self.server.violations();
        assert!(violations.is_empty(), "{violations:?}");
        assert!(
            !self
                .folder
                .log()
                .contains(self.bot.token.split_once(':').unwrap().1),
            "the log holds the token"
        );
    }
}

/// OWN-30, 90: the main job, where a team talks.
#[tokio::test]
async fn a_build_comes_home_to_its_topic_though_the_gateway_was_killed() {
    let world = World::new().await;
    let mut running = world.start().await;
    world.says(world.builds, "!bg sleep 4; echo built-$((40+2))");
    let begun = world.answered("Started prc_").await;
    assert_eq!(begun.thread, world.builds.thread);
    running.kill();
    let running = world.start().await;
    let told = world.answered("built-42").await;
    assert_eq!(
        (told.chat, told.thread),
        (world.forum.id, world.builds.thread)
    );
    world.says(world.forum, "!echo in-general");
    assert_eq!(world.answered("in-general").await.thread, None);
    running.stop().await;
    world.is_sound();
    let results = world.server.sent();
    let results = results.iter().filter(|sent| sent.text.contains("built-42"));
    assert_eq!(results.count(), 1, "told once");
}

/// OWN-31: after `/new` in a topic, nothing of the old session is posted in it.
#[tokio::test]
async fn after_new_in_a_topic_the_old_result_is_dropped_with_a_reason() {
    let world = World::new().await;
    let running = world.start().await;
    world.says(world.builds, "!bg sleep 2; echo stale-$((40+2))");
    let begun = world.answered("Started prc_").await;
    let process = begun
        .text
        .split_whitespace()
        .find(|word| word.starts_with("prc_"))
        .unwrap();
    let process = process.trim_end_matches('.').to_owned();
    world.says(world.builds, "/new@homing_bot");
    world.answered("A fresh session").await;
    let key = format!(
        "agent:main:telegram:group:{}:{}",
        world.forum.id,
        world.builds.thread.unwrap()
    );
    running.wait_for_state(&key, &process, "dropped").await;
    let why = homing(&world.folder, &["explain", &process]).ok();
    assert!(why.contains("session_reset"), "{why}");
    assert!(
        world
            .server
            .sent()
            .iter()
            .all(|sent| !sent.text.contains("stale-42"))
    );
    running.stop().await;
    world.is_sound();
}

#[tokio::test]
async fn the_doctor_finds_a_working_bot_and_says_what_a_broken_one_lacks() {
    let world = World::new().await;
    let [config, path] = world.settings.clone();
    let place = format!("{}:{}", world.forum.id, world.builds.thread.unwrap());
    let looked = tokio::task::spawn_blocking({
        let folder = TestFolder::new();
        move || {
            homing(
                &folder,
                &["doctor", "telegram", &config, &path, "--probe", &place],
            )
        }
    })
    .await
    .unwrap();
    assert!(
        looked.out.contains("the token is that of @homing_bot"),
        "{}",
        looked.out
    );
    assert!(
        looked.out.contains("arrived, and was deleted"),
        "{}",
        looked.out
    );
    let revoked = world.server.revoke(&world.bot).unwrap();
    assert_ne!(revoked.token, world.bot.token);
    let [config, path] = world.settings.clone();
    let looked = tokio::task::spawn_blocking({
        let folder = TestFolder::new();
        move || homing(&folder, &["doctor", "telegram", &config, &path])
    })
    .await
    .unwrap();
    assert_eq!(looked.code, Some(1), "{}", looked.out);
    assert!(looked.out.contains("BotFather"), "{}", looked.out);
}
