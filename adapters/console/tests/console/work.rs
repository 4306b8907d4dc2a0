//! Background work as the page reads it: live output, logs that are read on, sub-agents.

use homing_domain::ids::*;
use homing_domain::notification::{Kind, State};
use homing_domain::origin::Origin;
use homing_domain::owner::Owner;
use homing_domain::process::{Ending, ProcessState};
use homing_domain::session::Current;
use homing_ports::Clock;
use homing_ports::inbox::Wrote;
use homing_ports::store::*;
use serde_json::{Value, json};

use crate::browser::{Browser, Served};
use crate::fake::Fake;
use crate::{LARK, OTTER};

fn owner(fake: &Fake, key: &str, window: Option<WindowId>) -> Owner {
    let at = key.parse().unwrap();
    Owner {
        conversation: fake.conversation(&at),
        session: fake.ids.next(),
        lineage: fake.ids.next(),
        origin: Origin::from_key(&at),
        window,
        delegation: None,
    }
}

/// A process that runs and has written this.
fn running(fake: &Fake, window: Option<WindowId>, written: &[u8]) -> ProcessId {
    let id = fake.ids.next();
    let row = ProcessRow {
        id,
        owner: owner(fake, OTTER, window),
        kind: ProcessKind::Task,
        command: "make".into(),
        directory: "/".into(),
        notify: true,
        watch: Vec::new(),
        state: ProcessState::Running,
        ending: None,
        created_at: fake.clock.now(),
        ended_at: None,
        output_total: 0,
        output_tail: Vec::new(),
        failure: None,
        consumed: None,
        watched: Watched::default(),
    };
    let mut rows = fake.rows();
    rows.processes.push(row);
    rows.written.insert(id, written.to_vec());
    id
}

fn end(fake: &Fake, process: ProcessId) {
    let now = fake.clock.now();
    let mut rows = fake.rows();
    let row = rows.processes.iter_mut().find(|row| row.id == process);
    let row = row.unwrap();
    (row.state, row.ending, row.ended_at) =
        (ProcessState::Exited, Some(Ending::Code(0)), Some(now));
}

async fn log(browser: &Browser, process: ProcessId, span: &str) -> Value {
    let (status, body) = browser
        .get(&format!("/api/v1/processes/{process}/log{span}"))
        .await;
    assert_eq!(status, 200, "{body}");
    body
}

/// OWN-34: the live delivery is addressed, also before there is a result.
#[tokio::test]
async fn only_the_window_that_started_a_process_hears_that_it_writes() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let (started, other) = (
        browser.open_window(OTTER).await,
        browser.open_window(OTTER).await,
    );
    let elsewhere = browser.open_window(LARK).await;
    let mut starting = browser.stream(&[elsewhere, started]).await;
    let mut looking = browser.stream(&[other]).await;
    let mut windowless = browser.stream(&[]).await;

    let process = running(&served.fake, Some(started), b"compiling\n");
    let conversation = served.fake.conversation(&OTTER.parse().unwrap());
    let wrote = Wrote {
        process,
        conversation,
        window: started,
    };
    served.fake.outputs.send(wrote).unwrap();
    let expected = json!({ "process": process, "conversation": conversation });
    assert_eq!(starting.next().await, ("output".into(), expected));

    // Whatever the others were to hear comes before this.
    served.fake.changes.send(conversation).unwrap();
    for stream in [&mut looking, &mut windowless] {
        assert_eq!(stream.next().await.0, "changed");
    }
    let (_, body) = browser
        .get(&format!("/api/v1/processes?conversation={OTTER}"))
        .await;
    assert_eq!(body["processes"][0]["window"], json!(started));
}

#[tokio::test]
async fn a_log_is_read_on_while_its_process_writes() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let fake = &served.fake;
    let process = running(fake, None, b"\x1b[1mfetch\x1b[0m\n 10%\r 20%");
    let write = |bytes: &[u8]| {
        let mut rows = fake.rows();
        rows.written.get_mut(&process).unwrap().extend(bytes);
    };

    let first = log(&browser, process, "").await;
    assert_eq!(
        (&first["text"], &first["line"]),
        (&json!("fetch\n"), &json!(" 20%"))
    );
    write(b"\r100%\npassword=hunter2hunter2\nlink");
    let second = log(&browser, process, &format!("?from={}", first["next"])).await;
    assert_eq!(second["text"], "100%\npassword=[redacted]\n");
    assert_eq!(
        (&second["line"], &second["more"]),
        (&json!("link"), &json!(false))
    );

    end(fake, process);
    let last = log(&browser, process, &format!("?from={}", second["next"])).await;
    assert_eq!(
        (&last["text"], &last["line"], &last["process"]["live"]),
        (&json!("link"), &json!(""), &json!(false)),
        "nothing is being written any more"
    );
    assert_eq!(last["next"], last["total"]);
}

#[tokio::test]
async fn a_reader_that_lags_is_told_so_and_the_end_begins_with_a_whole_line() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let process = running(&served.fake, None, b"first line\nsecond line\nthird line\n");
    let piece = log(&browser, process, "?from=0&limit=15").await;
    assert_eq!(
        (&piece["text"], &piece["more"]),
        (&json!("first line\n"), &json!(true))
    );
    let tail = log(&browser, process, "?limit=15").await;
    assert_eq!(
        (&tail["text"], &tail["more"]),
        (&json!("third line\n"), &json!(false))
    );
    assert_eq!(tail["from"], 23);
}

#[tokio::test]
async fn sub_agents_are_listed_and_a_notification_about_one_says_what_it_was_to_do() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let fake = &served.fake;
    let delegation = DelegationRow {
        id: fake.ids.next(),
        owner: owner(fake, OTTER, None),
        session: fake.ids.next(),
        lineage: fake.ids.next(),
        task: "find the slow query".into(),
        state: DelegationState::Interrupted,
        result: Some("it is the third one".into()),
        created_at: fake.clock.now(),
        ended_at: Some(fake.clock.now()),
        batch: None,
    };
    let notification = NotificationRow {
        id: fake.ids.next(),
        conversation: delegation.owner.conversation,
        source: Source::Delegation(delegation.id),
        kind: Kind::Delegation,
        sequence: 0,
        state: State::Pending,
        reason: None,
        content: String::new(),
        more: 0,
        held_since: None,
        attempts: 0,
        turn: None,
        session: None,
        created_at: fake.clock.now(),
        settled_at: None,
    };
    let said = |session: SessionId, text: &str| MessageRow {
        id: fake.ids.next(),
        session,
        turn: None,
        role: Role::Agent,
        author: None,
        text: text.into(),
        at: fake.clock.now(),
        data: None,
    };
    let history = vec![
        said(delegation.owner.session, "it is at it"),
        said(delegation.session, "a thought of its own"),
    ];
    fake.rows().history = history;
    fake.rows().delegations.push(delegation.clone());
    fake.rows().notifications.push(notification.clone());

    let list = |key: &str| format!("/api/v1/delegations?conversation={key}&limit=5");
    let (status, body) = browser.get(&list(OTTER)).await;
    let told = &body["delegations"][0];
    assert_eq!(
        (status, &told["id"]),
        (200, &json!(delegation.id)),
        "{body}"
    );
    assert_eq!(
        (&told["state"], &told["result"]),
        (&json!("interrupted"), &json!("it is the third one"))
    );
    let (status, body) = browser.get(&list(LARK)).await;
    assert_eq!((status, &body["delegations"]), (200, &json!([])));
    let (_, body) = browser
        .get(&format!("/api/v1/notifications/{}", notification.id))
        .await;
    assert_eq!(body["delegation"]["task"], "find the slow query");
    assert_eq!(body["process"], Value::Null);
    let (_, body) = browser
        .get(&format!("/api/v1/conversations/{OTTER}/messages"))
        .await;
    let texts: Vec<_> = body["messages"].as_array().unwrap().iter().collect();
    assert_eq!(texts.len(), 1, "its own session is not this conversation");
    assert_eq!(texts[0]["text"], "it is at it");
}

#[tokio::test]
async fn a_conversation_says_what_its_session_is_called() {
    let served = Served::new().await;
    let browser = served.browser().await;
    let fake = &served.fake;
    let path = format!("/api/v1/conversations/{OTTER}");
    let (_, body) = browser.get(&path).await;
    assert_eq!(body["session_title"], Value::Null);

    let owner = owner(fake, OTTER, None);
    {
        let mut rows = fake.rows();
        rows.conversations[0].current = Some(Current {
            session: owner.session,
            lineage: owner.lineage,
        });
        rows.sessions.push(SessionRow {
            id: owner.session,
            conversation: owner.conversation,
            lineage: owner.lineage,
            continues: None,
            parent: None,
            title: Some("The Friday release".into()),
            summary: None,
            started_at: fake.clock.now(),
            ended: None,
            messages: 0,
            kept_from: None,
        });
    }
    let (_, body) = browser.get(&path).await;
    assert_eq!(body["session_title"], "The Friday release");
}
