#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use proptest::prelude::*;

#[test]
fn the_example_is_the_default_spelt_out() {
    let example = include_str!("../../../config/homing.example.toml");
    assert_eq!(Config::parse(example).unwrap(), Config::default());
    // Every line that is commented out as a choice parses too when it is switched on.
    let switched: String = example
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("#: ").unwrap_or(line)))
        .collect();
    let config = Config::parse(&switched).unwrap();
    assert_eq!(
        config.notifications.home.unwrap().to_string(),
        "agent:main:console:dm:local:home"
    );
    let telegram = config.telegram.unwrap();
    assert_eq!(telegram.people, [123_456_789]);
    assert_eq!(telegram.chats.len(), 1);
    assert_eq!(config.agent.model.as_deref(), Some("qwen3"));
}

#[test]
fn a_secret_is_never_written_into_the_settings() {
    let written = problem("[telegram]\ntoken = \"123:abc\"\npeople = [1]\n");
    assert!(
        written.contains("file =") && written.contains("env ="),
        "{written}"
    );
    let both = problem("[agent]\nkey = { file = \"a\", env = \"B\" }\n");
    assert!(both.contains("named, not written"), "{both}");
}

#[test]
fn a_bot_that_nobody_could_talk_to_and_a_model_without_a_server_are_refused() {
    let nobody = problem("[telegram]\ntoken = { env = \"TOKEN\" }\n");
    assert!(nobody.contains("telegram.people"), "{nobody}");
    let url =
        problem("[telegram]\ntoken = { env = \"T\" }\npeople = [1]\napi_url = \"telegram.org\"\n");
    assert!(url.contains("telegram.api_url"), "{url}");
    let server = problem("[agent]\nkind = \"openai\"\nmodel = \"m\"\n");
    assert!(server.contains("agent.base_url"), "{server}");
    let window = problem("[agent]\noutput_tokens = 40000\n");
    assert!(window.contains("context_tokens"), "{window}");
}

#[test]
fn an_empty_file_is_the_default() {
    assert_eq!(Config::parse("").unwrap(), Config::default());
    assert_eq!(DEFAULT_LISTEN, Config::default().gateway.listen.to_string());
}

fn problem(text: &str) -> String {
    Config::parse(text).unwrap_err().to_string()
}

#[test]
fn errors_name_the_place_and_the_way_out() {
    let unknown = problem("[gateway]\nlisten_on = \"127.0.0.1:1\"\n");
    assert!(
        unknown.contains("line 2") && unknown.contains("listen_on") && unknown.contains("`listen`"),
        "{unknown}"
    );
    let span = problem("[notifications]\nhold_for = \"7 days\"\n");
    assert!(
        span.contains("line 2") && span.contains("7 days") && span.contains("7d"),
        "{span}"
    );
    let choice = problem("[windows]\nwhen_away = \"wait\"\n");
    assert!(
        choice.contains("hold") && choice.contains("run"),
        "{choice}"
    );
    let open = problem("[gateway]\nlisten = \"0.0.0.0:7350\"\n");
    assert!(
        open.contains("gateway.listen") && open.contains("loopback"),
        "{open}"
    );
    let home = problem("[notifications]\nunaddressed = \"home\"\n");
    assert!(home.contains("notifications.home"), "{home}");
    let key = problem("[notifications]\nhome = \"agent:main:telegram\"\n");
    assert!(key.contains("chat_type"), "{key}");
    let set = problem("[processes]\nenvironment = [\"PATH=/bin\"]\n");
    assert!(set.contains("PATH=/bin"), "{set}");
    let size = problem("[processes]\nmemory_max = \"2 gigs\"\n");
    assert!(
        size.contains("line 2") && size.contains("2 gigs") && size.contains("\"2G\""),
        "{size}"
    );
    let count = problem("[processes]\npids_max = -1\n");
    assert!(
        count.contains("line 2") && count.contains("`-1`") && count.contains("512"),
        "{count}"
    );
}

#[test]
fn a_variable_that_holds_a_secret_is_for_no_command() {
    let agent = "[agent]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\nkey = { env = \"MODEL_KEY\" }\n";
    let refused = problem(&format!(
        "[processes]\nenvironment = [\"PATH\", \"MODEL_KEY\"]\n{agent}"
    ));
    assert!(
        refused.contains("MODEL_KEY") && refused.contains("`agent.key`"),
        "{refused}"
    );
    Config::parse(&format!("[processes]\nenvironment = [\"PATH\"]\n{agent}")).unwrap();
}

#[test]
fn limits_are_numbers_or_off() {
    let limits = |text: &str| {
        let processes = Config::parse(&format!("[processes]\n{text}")).unwrap();
        (processes.processes.memory_max, processes.processes.pids_max)
    };
    assert_eq!(
        limits("memory_max = \"2G\"\npids_max = 512\n"),
        (Some(2 << 30), Some(512))
    );
    assert_eq!(limits("memory_max = \"off\"\npids_max = 0\n"), (None, None));
    assert_eq!(limits("pids_max = \"off\"\n"), (None, None));
    for impossible in [
        "2",
        "0G",
        "1023K",
        "16777216T",
        "G",
        "",
        "-1G",
        "1.5G",
        "2GB",
    ] {
        assert!(parse_size(impossible).is_err(), "{impossible}");
    }
    assert_eq!(parse_size(" 1024 K ").unwrap(), 1 << 20);
}

proptest! {
    #[test]
    fn spans_of_time_round_trip(number in 0u64..500_000, unit in prop::sample::select(vec![("ms", 1u64), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)])) {
        prop_assert_eq!(parse_duration(&format!("{number}{}", unit.0)).unwrap(), Duration::from_millis(number * unit.1));
    }

    #[test]
    fn nothing_panics(text in ".{0,200}") {
        let _ = parse_duration(&text);
        let _ = parse_size(&text);
        let _ = Config::parse(&text);
    }
}

/// OWN-67: background work asks nobody, unless the profile allows it.
#[test]
fn background_work_asks_nobody_unless_that_is_set() {
    let asks = |text: &str| Config::parse(text).map(|config| config.agent.approve_in_background);
    assert_eq!(asks(""), Ok(AskInBackground::Refuse));
    let set = "[agent]\napprove_in_background = \"ask\"";
    assert_eq!(asks(set), Ok(AskInBackground::Ask));
    let error = asks("[agent]\napprove_in_background = \"yes\"").unwrap_err();
    assert!(error.to_string().contains("`refuse` or `ask`"), "{error}");
}

#[test]
fn an_answers_limit_is_called_as_the_server_wants_it() {
    let limit = |text: &str| {
        let config = Config::parse(&format!("[agent]\n{text}\n"));
        config.map(|config| config.agent.output_limit())
    };
    for (text, name) in [
        ("", OutputLimit::MaxTokens),
        (
            "base_url = \"http://127.0.0.1:8080/v1\"",
            OutputLimit::MaxTokens,
        ),
        (
            "base_url = \"https://api.openai.com.example.org/v1\"",
            OutputLimit::MaxTokens,
        ),
        (
            "base_url = \"https://API.openai.com:443/v1\"",
            OutputLimit::MaxCompletionTokens,
        ),
        (
            "base_url = \"https://eu.api.openai.com/v1\"",
            OutputLimit::MaxCompletionTokens,
        ),
        (
            "base_url = \"https://api.openai.com/v1\"\noutput_limit = \"max_tokens\"",
            OutputLimit::MaxTokens,
        ),
        (
            "output_limit = \"max_completion_tokens\"",
            OutputLimit::MaxCompletionTokens,
        ),
    ] {
        assert_eq!(limit(text), Ok(name), "{text}");
    }
    let error = limit("output_limit = \"max_output\"").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`max_tokens` or `max_completion_tokens`"),
        "{error}"
    );
}

#[test]
fn an_hour_that_no_day_has_is_refused() {
    let parse = |hour: u8| {
        Config::parse(&format!(
            "[sessions]\nreset = \"daily\"\ndaily_at = {hour}\n"
        ))
    };
    for hour in [0, 4, 23] {
        assert_eq!(parse(hour).unwrap().sessions.daily_at, hour);
    }
    for hour in [24, 200] {
        let error = parse(hour).unwrap_err().to_string();
        assert!(
            error.contains("daily_at") && error.contains("midnight is 0"),
            "{error}"
        );
    }
}
