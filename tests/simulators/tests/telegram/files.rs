//! Files up and down, albums.

use homing_simulators::telegram::{NewBot, Post, Settings};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::stage::{Answer, Stage, read};

async fn upload(stage: &Stage, method: &str, form: Form) -> Answer {
    let request = stage.api.client.post(stage.api.url(method)).multipart(form);
    read(request.send().await.expect("an answer"))
        .await
        .expect("JSON")
}

async fn download(stage: &Stage, file_id: &Value) -> Vec<u8> {
    let file = stage.ok("getFile", json!({"file_id": file_id})).await;
    let path = file["file_path"].as_str().expect("a path");
    let url = format!("{}/file/bot{}/{path}", stage.api.root, stage.api.token);
    let response = stage.api.client.get(url).send().await.expect("an answer");
    assert_eq!(response.status(), 200);
    response.bytes().await.expect("bytes").to_vec()
}

#[tokio::test]
async fn a_document_goes_up_and_comes_down_unchanged() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let part = Part::bytes(b"a,b\n1,2\n".to_vec())
        .file_name("table.csv")
        .mime_str("text/csv")
        .expect("a type");
    let form = Form::new()
        .text("chat_id", chat.id.to_string())
        .text("caption", "the table")
        .part("document", part);
    let answer = upload(&stage, "sendDocument", form).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let message = &answer.body["result"];
    assert_eq!(
        stage.server.problem_of_answer("sendDocument", message),
        None
    );
    assert_eq!(message["document"]["file_name"], "table.csv");
    assert_eq!(message["document"]["mime_type"], "text/csv");
    assert_eq!(message["caption"], "the table");
    let file_id = &message["document"]["file_id"];
    assert_eq!(download(&stage, file_id).await, b"a,b\n1,2\n");
    // Once there, it is sent again by its number.
    stage
        .ok(
            "sendDocument",
            json!({"chat_id": chat.id, "document": file_id}),
        )
        .await;
    let media: Vec<_> = stage
        .server
        .sent()
        .into_iter()
        .filter_map(|sent| sent.media)
        .collect();
    assert_eq!(media.len(), 2);
    assert_eq!(media[0].file_id, media[1].file_id);
    stage.assert_no_violations();
}

#[tokio::test]
async fn the_file_of_a_person_comes_down_and_the_largest_size_of_a_photo_is_the_last() {
    let stage = Stage::new().await;
    let chat = stage.private();
    stage
        .server
        .post(
            stage.alice,
            chat,
            Post::photo(b"not really a picture".to_vec()).caption("look"),
        )
        .expect("it is posted");
    stage
        .server
        .post(
            stage.alice,
            chat,
            Post::document("a.txt", "text/plain", "hello"),
        )
        .expect("it is posted");
    let updates = stage.updates().await;
    let sizes = updates[0]["message"]["photo"].as_array().expect("sizes");
    assert!(sizes[0]["file_size"].as_u64() < sizes[1]["file_size"].as_u64());
    assert_eq!(
        download(&stage, &sizes[1]["file_id"]).await,
        b"not really a picture"
    );
    assert_eq!(updates[0]["message"]["caption"], "look");
    let document = &updates[1]["message"]["document"];
    assert_eq!(download(&stage, &document["file_id"]).await, b"hello");
}

#[tokio::test]
async fn a_file_of_more_than_20_megabytes_is_not_given_out() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let limit = 20 * 1024 * 1024;
    for (size, given) in [(limit, true), (limit + 1, false)] {
        let post = Post::document("big.bin", "application/octet-stream", "x").claiming_size(size);
        stage
            .server
            .post(stage.alice, chat, post)
            .expect("it is posted");
        let message = stage.one_message().await;
        let answer = stage
            .api
            .call(
                "getFile",
                json!({"file_id": message["document"]["file_id"]}),
            )
            .await;
        assert_eq!(answer.status == 200, given);
        if !given {
            assert_eq!(answer.description(), "Bad Request: file is too big");
        }
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused() {
    let settings = Settings {
        upload_limit: 1000,
        ..Settings::default()
    };
    let stage = Stage::with(settings, NewBot::named("test_bot")).await;
    let part = Part::bytes(vec![0; 1500]).file_name("a.bin");
    let form = Form::new()
        .text("chat_id", stage.private().id.to_string())
        .part("document", part);
    let answer = upload(&stage, "sendDocument", form).await;
    assert_eq!(
        (answer.status, answer.description()),
        (413, "Request Entity Too Large")
    );
    assert!(stage.server.sent().is_empty());
}

#[tokio::test]
async fn files_that_are_not_there_are_refused() {
    let stage = Stage::new().await;
    let chat = stage.private();
    for (document, problem) in [
        ("nonsense", "wrong file identifier/HTTP URL specified"),
        ("http://127.0.0.1:9/a", "failed to get HTTP URL content"),
        ("attach://missing", "there is no document in the request"),
    ] {
        let refused = stage
            .refused(
                "sendDocument",
                json!({"chat_id": chat.id, "document": document}),
            )
            .await;
        assert_eq!(refused, (400, format!("Bad Request: {problem}")));
    }
    let (status, _) = stage
        .refused("getFile", json!({"file_id": "nonsense"}))
        .await;
    assert_eq!(status, 400);
    let url = format!(
        "{}/file/bot{}/documents/none",
        stage.api.root, stage.api.token
    );
    let response = stage.api.client.get(url).send().await.expect("an answer");
    assert_eq!(response.status(), 404);
}

#[tokio::test]
async fn a_caption_has_at_most_1024_utf16_units() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let form = |caption: String| {
        let part = Part::bytes(b"x".to_vec()).file_name("a.txt");
        Form::new()
            .text("chat_id", chat.id.to_string())
            .text("caption", caption)
            .part("document", part)
    };
    assert_eq!(
        upload(&stage, "sendDocument", form("😂".repeat(512)))
            .await
            .status,
        200
    );
    let answer = upload(&stage, "sendDocument", form("😂".repeat(512) + "a")).await;
    assert_eq!(
        (answer.status, answer.description()),
        (400, "Bad Request: message caption is too long")
    );
}

#[tokio::test]
async fn an_album_is_two_to_ten_messages_with_one_number() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let album = |count: usize| {
        let media: Vec<Value> = (0..count)
            .map(|number| json!({"type": "document", "media": format!("attach://f{number}"), "caption": number.to_string()}))
            .collect();
        let form = Form::new()
            .text("chat_id", chat.id.to_string())
            .text("media", json!(media).to_string());
        (0..count).fold(form, |form, number| {
            form.part(
                format!("f{number}"),
                Part::bytes(b"x".to_vec()).file_name(format!("{number}.txt")),
            )
        })
    };
    for count in [1, 11] {
        assert_eq!(
            upload(&stage, "sendMediaGroup", album(count)).await.status,
            400
        );
    }
    let answer = upload(&stage, "sendMediaGroup", album(3)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        stage
            .server
            .problem_of_answer("sendMediaGroup", &answer.body["result"]),
        None
    );
    let sent = stage.server.sent();
    assert_eq!(sent.len(), 3);
    assert!(sent[0].album.is_some() && sent.iter().all(|other| other.album == sent[0].album));
}

#[tokio::test]
async fn an_album_of_a_person_comes_as_messages_with_one_number() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let photos = vec![
        Post::photo(b"one".to_vec()).caption("both"),
        Post::photo(b"two".to_vec()),
    ];
    stage
        .server
        .post_album(stage.alice, chat, photos)
        .expect("it is posted");
    let updates = stage.updates().await;
    let album = |at: usize| &updates[at]["message"]["media_group_id"];
    assert!(album(0).is_string());
    assert_eq!(album(0), album(1));
}

#[tokio::test]
async fn every_kind_of_file_is_shown_as_its_kind() {
    let stage = Stage::new().await;
    let chat = stage.private();
    for (method, kind) in [
        ("sendPhoto", "photo"),
        ("sendAudio", "audio"),
        ("sendVideo", "video"),
        ("sendVoice", "voice"),
        ("sendAnimation", "animation"),
    ] {
        let form = Form::new()
            .text("chat_id", chat.id.to_string())
            .part(kind, Part::bytes(b"xy".to_vec()).file_name("f.bin"));
        let answer = upload(&stage, method, form).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let message = &answer.body["result"];
        assert!(message.get(kind).is_some(), "{message}");
        assert_eq!(stage.server.problem_of_answer(method, message), None);
    }
    let kinds: Vec<_> = stage
        .server
        .sent()
        .into_iter()
        .filter_map(|sent| sent.media)
        .map(|media| media.kind)
        .collect();
    assert_eq!(kinds, ["photo", "audio", "video", "voice", "animation"]);
}
