//! Messages: what is taken, what is refused, and where they land.

use homing_simulators::telegram::{NewBot, Post, RichMessages, Settings};
use serde_json::{Value, json};

use crate::stage::{Stage, read, skipped};

#[tokio::test]
async fn a_message_may_come_as_query_json_form_or_multipart() {
    let stage = Stage::new().await;
    let chat = stage.private().id.to_string();
    let url = stage.api.url("sendMessage");
    let client = &stage.api.client;
    let markup = json!({"inline_keyboard": [[{"text": "a", "callback_data": "b"}]]}).to_string();
    let fields = [
        ("chat_id", chat.as_str()),
        ("text", "12"),
        ("reply_markup", markup.as_str()),
        ("protect_content", "True"),
    ];
    let form = fields
        .iter()
        .fold(reqwest::multipart::Form::new(), |form, (name, value)| {
            form.text((*name).to_owned(), (*value).to_owned())
        });
    for request in [
        client.get(&url).query(&fields),
        client.post(&url).json(&serde_json::Map::from_iter(
            fields.map(|(name, value)| (name.to_owned(), json!(value))),
        )),
        client
            .post(&url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(
                reqwest::Url::parse_with_params("http://x/", &fields)
                    .expect("a URL")
                    .query()
                    .expect("a query")
                    .to_owned(),
            ),
        client.post(&url).multipart(form),
    ] {
        let answer = read(request.send().await.expect("an answer"))
            .await
            .expect("JSON");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.body["result"]["text"], "12");
        assert_eq!(
            answer.body["result"]["reply_markup"]["inline_keyboard"][0][0]["callback_data"],
            "b"
        );
    }
    assert_eq!(stage.server.sent().len(), 4);
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_text_has_at_most_4096_utf16_units_and_some() {
    let stage = Stage::new().await;
    let chat = stage.private().id;
    stage
        .ok(
            "sendMessage",
            json!({"chat_id": chat, "text": "😂".repeat(2048)}),
        )
        .await;
    for (text, problem) in [
        ("😂".repeat(2048) + "a", "Bad Request: message is too long"),
        (" \n\t".into(), "Bad Request: message text is empty"),
        (String::new(), "Bad Request: message text is empty"),
    ] {
        let refused = stage
            .refused("sendMessage", json!({"chat_id": chat, "text": text}))
            .await;
        assert_eq!(refused, (400, problem.into()));
    }
    assert_eq!(stage.server.violations().len(), 3);
}

#[tokio::test]
async fn entities_are_kept_and_those_that_make_no_sense_are_refused() {
    let stage = Stage::new().await;
    let chat = stage.private().id;
    let bold = |offset: usize, length: usize| json!([{"type": "bold", "offset": offset, "length": length}]);
    let send = |entities: Value| json!({"chat_id": chat, "text": "😂 hi", "entities": entities});
    let sent = stage.ok("sendMessage", send(bold(3, 2))).await;
    assert_eq!(sent["entities"], bold(3, 2));
    assert_eq!(json!(stage.server.sent()[0].entities), bold(3, 2));
    for entities in [bold(1, 2), bold(3, 3)] {
        let (status, _) = stage.refused("sendMessage", send(entities)).await;
        assert_eq!(status, 400);
    }
    assert_eq!(stage.server.violations().len(), 2);
}

#[tokio::test]
async fn parse_modes_make_entities_or_telegrams_complaint() {
    let stage = Stage::new().await;
    let chat = stage.private().id;
    let send = |text: &str, mode: &str| json!({"chat_id": chat, "text": text, "parse_mode": mode});
    let sent = stage
        .ok("sendMessage", send("<b>hi</b> &amp; you", "HTML"))
        .await;
    assert_eq!(sent["text"], "hi & you");
    assert_eq!(
        sent["entities"],
        json!([{"type": "bold", "offset": 0, "length": 2}])
    );
    let refused = stage
        .refused("sendMessage", send("some *text", "Markdown"))
        .await;
    let complaint =
        "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 5";
    assert_eq!(refused, (400, complaint.into()));
    // Whoever lets a model write Markdown meets this; it is no violation.
    stage.assert_no_violations();
}

#[tokio::test]
async fn what_the_schema_does_not_know_is_refused_and_kept_as_a_violation() {
    let stage = Stage::new().await;
    if !stage.server.has_schema() {
        skipped("HOMING_CONTRACTS has no schema");
        return;
    }
    let chat = stage.private().id;
    for params in [
        json!({"chat_id": chat, "text": "hi", "thread": 1}),
        json!({"chat_id": chat, "text": "hi", "entities": [{"type": "bold"}]}),
        json!({"text": "hi"}),
    ] {
        let (status, _) = stage.refused("sendMessage", params).await;
        assert_eq!(status, 400);
    }
    let violations = stage.server.violations();
    assert_eq!(violations.len(), 3);
    assert!(violations[0].problem.contains("thread"), "{violations:?}");
}

#[tokio::test]
async fn a_method_that_is_not_there_is_not_found_and_one_not_simulated_says_so() {
    let stage = Stage::new().await;
    let refused = stage.refused("sendPigeon", json!({})).await;
    assert_eq!(refused, (404, "Not Found: method not found".into()));
    let (status, _) = stage
        .refused(
            "sendPoll",
            json!({"chat_id": 1, "question": "?", "options": []}),
        )
        .await;
    assert_eq!(status, 501);
    assert_eq!(stage.server.violations().len(), 1);
}

#[tokio::test]
async fn names_of_methods_are_the_same_in_any_case() {
    let stage = Stage::new().await;
    let me = stage.api.call("getme", json!({})).await;
    assert_eq!(me.body["result"]["username"], "test_bot");
    assert_eq!(stage.server.requests()[0].method, "getMe");
}

#[tokio::test]
async fn buttons_carry_64_bytes_and_do_one_thing() {
    let stage = Stage::new().await;
    let chat = stage.private().id;
    let send = |data: String| json!({"chat_id": chat, "text": "?", "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": data}]]}});
    stage.ok("sendMessage", send("ü".repeat(32))).await;
    let refused = stage.refused("sendMessage", send("ü".repeat(33))).await;
    assert_eq!(refused, (400, "Bad Request: BUTTON_DATA_INVALID".into()));
}

#[tokio::test]
async fn a_reply_quotes_what_it_answers() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let asked = stage
        .server
        .post(stage.alice, chat, "what now?")
        .expect("it is posted");
    let reply = |parameters: Value| json!({"chat_id": chat.id, "text": "this", "reply_parameters": parameters});
    let sent = stage
        .ok("sendMessage", reply(json!({"message_id": asked})))
        .await;
    assert_eq!(sent["reply_to_message"]["text"], "what now?");
    assert_eq!(stage.server.sent()[0].reply_to, Some(asked));
    let refused = stage
        .refused("sendMessage", reply(json!({"message_id": 99})))
        .await;
    assert_eq!(
        refused,
        (400, "Bad Request: message to be replied not found".into())
    );
    let alone = reply(json!({"message_id": 99, "allow_sending_without_reply": true}));
    let sent = stage.ok("sendMessage", alone).await;
    assert_eq!(sent.get("reply_to_message"), None);
    let quoted = reply(json!({"message_id": asked, "quote": "now"}));
    assert_eq!(
        stage.ok("sendMessage", quoted).await["quote"]["text"],
        "now"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_deleted_message_cannot_be_answered() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let asked = stage
        .server
        .post(stage.alice, chat, "never mind")
        .expect("it is posted");
    stage.server.delete(chat, asked).expect("it is there");
    let params =
        json!({"chat_id": chat.id, "text": "hm", "reply_parameters": {"message_id": asked}});
    let refused = stage.refused("sendMessage", params).await;
    assert_eq!(refused.1, "Bad Request: message to be replied not found");
}

#[tokio::test]
async fn a_reply_outside_topics_makes_a_pseudo_thread_that_nothing_may_be_sent_to() {
    let stage = Stage::new().await;
    let forum = stage.forum_with(&[]);
    let first = stage
        .server
        .post(stage.alice, forum, "in General")
        .expect("it is posted");
    stage
        .server
        .post(stage.alice, forum, Post::text("and on").reply_to(first))
        .expect("it is posted");
    let reply = stage.updates().await[1]["message"].clone();
    assert_eq!(reply["message_thread_id"], json!(first));
    assert_eq!(reply.get("is_topic_message"), None);
    let params = json!({"chat_id": forum.id, "message_thread_id": first, "text": "hm"});
    let refused = stage.refused("sendMessage", params).await;
    assert_eq!(
        refused,
        (400, "Bad Request: message thread not found".into())
    );
}

#[tokio::test]
async fn drafts_are_for_private_chats_and_can_be_stopped() {
    let stage = Stage::with(
        Settings::default(),
        NewBot::named("test_bot").with_private_topics(),
    )
    .await;
    let (private, forum) = (stage.private(), stage.forum());
    let draft = |chat: Value, id: i64| json!({"chat_id": chat, "draft_id": id, "text": "so far", "can_stop": true});
    for (chat, id) in [(json!(private.id), 0), (json!(forum.id), 5)] {
        let (status, _) = stage.refused("sendMessageDraft", draft(chat, id)).await;
        assert_eq!(status, 400);
    }
    let place = stage
        .server
        .topic(stage.alice, private, "Plan")
        .expect("a topic");
    stage.updates().await;
    let mut params = draft(json!(private.id), 5);
    params["message_thread_id"] = json!(place.thread);
    stage.ok("sendMessageDraft", params).await;
    assert_eq!(stage.server.drafts()[0].thread, place.thread);
    stage
        .server
        .stop_generation(private, 5)
        .expect("it can be stopped");
    let updates = stage.ok("getUpdates", json!({})).await;
    let stopped = &updates[0]["stopped_message_generation"];
    assert_eq!(stopped["draft_id"], 5);
    assert_eq!(stopped["message_thread_id"], json!(place.thread));
    assert!(stage.server.sent().is_empty(), "a draft is no message");
}

#[tokio::test]
async fn rich_messages_are_taken_refused_or_unknown_as_the_test_wants() {
    for (setting, status) in [
        (RichMessages::Taken, 200),
        (RichMessages::Refused("RICH_MESSAGE_INVALID".into()), 400),
        (RichMessages::Unknown, 404),
    ] {
        let settings = Settings {
            rich_messages: setting,
            ..Settings::default()
        };
        let stage = Stage::with(settings, NewBot::named("test_bot")).await;
        let params = json!({"chat_id": stage.private().id, "rich_message": {"markdown": "# hi"}});
        let answer = stage.api.call("sendRichMessage", params).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(stage.server.sent().len(), usize::from(status == 200));
    }
}

#[tokio::test]
async fn a_rich_message_may_be_longer_and_is_edited_as_one() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let rich = |text: String| json!({"chat_id": chat.id, "rich_message": {"markdown": text}});
    let sent = stage.ok("sendRichMessage", rich("x".repeat(30_000))).await;
    let mut edit = rich("y".repeat(32_768));
    edit["message_id"] = sent["message_id"].clone();
    stage.ok("editMessageText", edit.clone()).await;
    assert_eq!(stage.server.sent()[0].text.len(), 32_768);
    edit["rich_message"] = json!({"markdown": "z".repeat(32_769)});
    assert_eq!(stage.refused("editMessageText", edit).await.0, 400);
}

#[tokio::test]
async fn typing_is_seen_in_general_only_by_its_number() {
    let stage = Stage::new().await;
    let forum = stage.forum();
    stage
        .ok(
            "sendChatAction",
            json!({"chat_id": forum.id, "action": "typing", "message_thread_id": 1}),
        )
        .await;
    let actions = stage.server.actions();
    assert_eq!(actions[0].thread.map(|thread| thread.0), Some(1));
    let params = json!({"chat_id": forum.id, "message_thread_id": 1, "text": "hi"});
    let refused = stage.refused("sendMessage", params).await;
    assert_eq!(
        refused,
        (400, "Bad Request: message thread not found".into())
    );
}

#[tokio::test]
async fn copies_have_no_origin_and_forwards_have_one() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let said = stage
        .server
        .post(stage.alice, chat, "keep this")
        .expect("it is posted");
    let params = json!({"chat_id": chat.id, "from_chat_id": chat.id, "message_id": said});
    let forwarded = stage.ok("forwardMessage", params.clone()).await;
    assert_eq!(
        forwarded["forward_origin"]["sender_user"]["username"],
        "alice"
    );
    stage.ok("copyMessage", params).await;
    let several = json!({"chat_id": chat.id, "from_chat_id": chat.id, "message_ids": [said, 90]});
    assert_eq!(
        stage
            .ok("copyMessages", several)
            .await
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let texts: Vec<_> = stage
        .server
        .sent()
        .into_iter()
        .map(|sent| sent.text)
        .collect();
    assert_eq!(texts, ["keep this"; 3]);
}
