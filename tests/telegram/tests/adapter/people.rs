//! Who may speak, and what is said to others.

use homing_domain::key::ChatType;
use homing_simulators::telegram::{NewBot, Standing};
use homing_telegram_tests::{Call, LIMIT, Stage};

#[tokio::test]
async fn in_a_group_only_what_is_meant_for_the_bot_is_read() {
    let mut stage = Stage::with_bot(NewBot::named("us_bot").reading_all()).await;
    let group = stage.group();
    let mut open = stage.settings.chats[0].clone();
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    open.chat = forum.id.0;
    open.topic = topic.thread.map(|thread| thread.0);
    open.require_mention = Some(false);
    stage.set(|settings| settings.chats.push(open));
    stage.serve();
    stage.writes(group, "among us");
    stage.writes(group, "/status@other_bot");
    stage.writes(group, "@us_bot one");
    stage.writes(topic, "two");
    stage.writes(forum, "not in General");
    stage.writes(group, "/three@us_bot now");
    let came = stage.inbox.messages(3).await;
    // Places do not wait for each other; within each, messages keep their order.
    let texts = |chat: i64| -> Vec<&str> {
        let there = came
            .iter()
            .filter(|one| one.origin.chat == chat.to_string());
        there.map(|one| one.text.as_str()).collect()
    };
    assert_eq!(texts(group.id.0), ["one", "/three now"]);
    assert_eq!(texts(forum.id.0), ["two"]);
    stage.end().await;
}

#[tokio::test]
async fn an_answer_to_the_bot_needs_no_mention() {
    let mut stage = Stage::new().await;
    let group = stage.group();
    stage.serve();
    let receipt = stage.says(&stage.origin(group), "ask me").await.unwrap();
    let number: i64 = receipt.message.unwrap().parse().unwrap();
    let reply = homing_simulators::telegram::Post::text("and now?").reply_to(number);
    stage.writes(group, reply);
    let came = stage.inbox.messages(1).await;
    assert_eq!(came[0].text, "and now?");
    assert_eq!(
        came[0]
            .quoted
            .as_deref()
            .map(|quoted| quoted.ends_with(": ask me")),
        Some(true)
    );
    stage.end().await;
}

#[tokio::test]
async fn an_address_that_was_forgotten_can_be_added() {
    let mut stage = Stage::with_bot(NewBot::named("us_bot").reading_all()).await;
    let group = stage.group();
    stage.serve();
    let message = stage.writes(group, "hello");
    stage
        .server
        .edit(stage.alice, group, message.into(), "hello @us_bot")
        .unwrap();
    stage.writes(group, "/next");
    stage.inbox.messages(2).await;
    assert_eq!(stage.inbox.texts(), ["hello", "/next"]);
    stage.end().await;
}

#[tokio::test]
async fn a_stranger_is_told_once_and_nothing_is_kept() {
    let mut stage = Stage::new().await;
    let group = stage.group();
    let mallory = stage.server.user("Mallory");
    let private = stage.server.private_chat(&stage.bot, mallory);
    let unknown = stage.server.group("Elsewhere", &[stage.alice]);
    stage
        .server
        .admit(unknown, stage.bot.id, Standing::Member)
        .unwrap();
    stage.serve();
    for _ in 0..3 {
        stage.server.post(mallory, private, "let me in").unwrap();
    }
    stage
        .server
        .post(stage.alice, unknown, "@us_bot hello")
        .unwrap();
    stage.writes(group, "/mine");
    stage.inbox.messages(1).await;
    let sent = stage.server.wait_for_sent(2, LIMIT).await.unwrap();
    let said = |chat: homing_simulators::telegram::Chat| {
        let sent: Vec<_> = sent.iter().filter(|sent| sent.chat == chat.id).collect();
        assert_eq!(sent.len(), 1);
        sent[0].text.clone()
    };
    assert!(said(private).contains(&format!("number is {mallory}")));
    assert!(said(private).contains("`people`"));
    assert!(said(unknown).contains(&unknown.id.to_string()));
    assert_eq!(stage.inbox.texts(), ["/mine"]);
    stage.end().await;
}

#[tokio::test]
async fn a_pressed_button_is_what_it_says() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    stage.serve();
    let mut outgoing = homing_telegram_tests::outgoing(&stage.origin(topic), "Sure?");
    let button = |label: &str, says: &str| homing_ports::platform::Button {
        label: label.into(),
        says: says.into(),
    };
    outgoing.extras.buttons = vec![vec![
        button("Yes", "/approve 1"),
        button("Too long", &"x".repeat(65)),
    ]];
    let receipt = stage.platform().send(outgoing).await.unwrap();
    let number: i64 = receipt.message.unwrap().parse().unwrap();
    assert_eq!(stage.sent_in(topic)[0].buttons[0].len(), 1);
    let query = stage
        .server
        .press(stage.alice, forum, number.into(), "/approve 1")
        .unwrap();
    let came = stage.inbox.messages(1).await;
    assert_eq!(came[0].text, "/approve 1");
    assert_eq!(
        came[0].origin.thread,
        topic.thread.map(|thread| thread.to_string())
    );
    assert_eq!(
        came[0].origin.user.as_deref(),
        Some(stage.alice.to_string().as_str())
    );
    assert!(came[0].platform_id.starts_with("u:"));
    let settled = |server: &homing_simulators::telegram::Server| {
        let answered = server
            .callback_answers()
            .iter()
            .any(|answer| answer.query == query);
        let gone = server.sent_in(topic)[0].buttons.is_empty();
        (answered && gone).then_some(())
    };
    stage.server.wait_for(LIMIT, settled).await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn a_button_pressed_by_a_stranger_does_nothing() {
    let mut stage = Stage::new().await;
    let group = stage.group();
    let mallory = stage.server.user("Mallory");
    stage
        .server
        .admit(group, mallory, Standing::Member)
        .unwrap();
    stage.serve();
    let mut outgoing = homing_telegram_tests::outgoing(&stage.origin(group), "Sure?");
    outgoing.extras.buttons = vec![vec![homing_ports::platform::Button {
        label: "Yes".into(),
        says: "/approve 1".into(),
    }]];
    let receipt = stage.platform().send(outgoing).await.unwrap();
    let number: i64 = receipt.message.unwrap().parse().unwrap();
    stage
        .server
        .press(mallory, group, number.into(), "/approve 1")
        .unwrap();
    let answered =
        |server: &homing_simulators::telegram::Server| server.callback_answers().first().cloned();
    let answer = stage.server.wait_for(LIMIT, answered).await.unwrap();
    assert!(answer.text.unwrap().contains("do not know you"));
    assert_eq!(stage.inbox.texts(), Vec::<String>::new());
    assert_eq!(
        stage.sent_in(group)[0].buttons.len(),
        1,
        "they stay for others"
    );
    stage.end().await;
}

#[tokio::test]
async fn an_operator_hears_when_the_bot_is_put_out_and_when_it_is_back() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let private = stage.private();
    stage.serve();
    stage
        .server
        .change_member(stage.alice, forum, stage.bot.id, Standing::Kicked)
        .unwrap();
    stage.server.block(private).unwrap();
    let told = stage
        .inbox
        .until("two notes", |inbox| {
            Some(inbox.told()).filter(|told| told.len() == 2)
        })
        .await;
    assert!(
        told[0].contains("Forum") && told[0].contains("banned"),
        "{told:?}"
    );
    assert!(
        told[1].contains("Alice") && told[1].contains("blocked"),
        "{told:?}"
    );
    let error = stage
        .says(&stage.origin(private), "hello")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("unblock"), "{error}");
    stage.server.unblock(private).unwrap();
    let back = stage
        .inbox
        .until("a return", |inbox| {
            inbox.calls().into_iter().find_map(|call| match call {
                Call::Reopened(place) => Some(place),
                _ => None,
            })
        })
        .await;
    assert_eq!(
        (back.chat_type, back.chat),
        (ChatType::Dm, private.id.to_string())
    );
    stage.says(&stage.origin(private), "hello").await.unwrap();
    let other = stage.server.group("Other", &[stage.alice]);
    stage
        .server
        .change_member(stage.alice, other, stage.bot.id, Standing::Member)
        .unwrap();
    let told = stage
        .inbox
        .until("a third note", |inbox| {
            Some(inbox.told()).filter(|told| told.len() == 3)
        })
        .await;
    assert!(told[2].contains(&other.id.to_string()), "{told:?}");
    stage.end().await;
}

#[tokio::test]
async fn commands_are_offered_once() {
    let mut stage = Stage::new().await;
    let command = |name: &str| homing_telegram::CommandName {
        name: name.into(),
        description: "does it".into(),
    };
    stage.set(|settings| settings.commands = vec![command("status"), command("not-offered")]);
    stage.serve();
    stage
        .inbox
        .until("a connection", |inbox| {
            inbox.calls().contains(&Call::Ready).then_some(())
        })
        .await;
    let offered = stage.server.commands(&stage.bot);
    assert_eq!(offered.len(), 2, "{offered:?}");
    for (_, _, commands) in &offered {
        assert_eq!(
            commands,
            &serde_json::json!([{"command": "status", "description": "does it"}])
        );
    }
    stage.restart().await;
    stage
        .inbox
        .until("a second connection", |inbox| {
            let ready = inbox
                .calls()
                .iter()
                .filter(|call| **call == Call::Ready)
                .count();
            (ready == 2).then_some(())
        })
        .await;
    let set = stage
        .server
        .requests()
        .into_iter()
        .filter(|request| request.method.eq_ignore_ascii_case("setMyCommands"));
    assert_eq!(set.count(), 2);
    stage.end().await;
}
