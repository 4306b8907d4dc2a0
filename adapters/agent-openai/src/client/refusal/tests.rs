#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

fn refusal(status: u16, body: &str) -> Refusal {
    Refusal::of_response(status, &HeaderMap::new(), body, None)
}

fn kind_of(status: u16, body: &Value) -> RefusalKind {
    refusal(status, &body.to_string()).kind
}

#[test]
fn a_context_that_is_too_long_is_recognised_at_every_server() {
    let openai = json!({"error": {"message": "This model's maximum context length is 128,000 tokens. However, your messages resulted in 130000 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}});
    let llama = json!({"error": {"code": 400, "message": "request (4476 tokens) exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 4476, "n_ctx": 4096}});
    let llama_before = json!({"error": {"code": 500, "message": "the request exceeds the available context size. try increasing the context size", "type": "server_error"}});
    let vllm = json!({"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens", "type": "BadRequestError", "code": 400});
    let vllm_prompt = json!({"error": {"message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure", "type": "BadRequestError", "code": 400}});
    let google = json!([{"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}]);
    for (status, body, limit) in [
        (400, openai, Some(128_000)),
        (400, llama, Some(4096)),
        (500, llama_before, None),
        (400, vllm, Some(4096)),
        (400, vllm_prompt, Some(4096)),
        (400, google, None),
        (413, json!("too large"), None),
    ] {
        let wanted = RefusalKind::ContextTooLong { limit };
        assert_eq!(kind_of(status, &body), wanted, "{body}");
    }
    // A limit of the account, no matter of the context.
    let minute = json!({"error": {"message": "Rate limit reached: maximum context length of your tier", "code": "rate_limit_exceeded"}});
    assert_eq!(kind_of(429, &minute), RefusalKind::RateLimited);
}

#[test]
fn a_missing_model_is_told_from_a_missing_page() {
    for (status, message) in [
        (404, "The model `x` does not exist."),
        (404, "model \"x\" not found, try pulling it first"),
        (404, "No endpoints found for x."),
        (400, "x is not a valid model ID"),
    ] {
        let body = json!({"error": {"message": message}});
        assert_eq!(
            kind_of(status, &body),
            RefusalKind::ModelMissing,
            "{message}"
        );
    }
    let project = json!({"error": {"message": "Project has no access", "code": "model_not_found"}});
    assert_eq!(kind_of(403, &project), RefusalKind::ModelMissing);
    assert_eq!(
        refusal(404, "404 page not found").kind,
        RefusalKind::Request
    );
}

#[test]
fn every_status_has_its_kind() {
    for (status, wanted) in [
        (301, RefusalKind::Request),
        (400, RefusalKind::Request),
        (401, RefusalKind::KeyRefused),
        (402, RefusalKind::OutOfCredit),
        (403, RefusalKind::KeyRefused),
        (404, RefusalKind::Request),
        (408, RefusalKind::Unavailable),
        (409, RefusalKind::Unavailable),
        (413, RefusalKind::ContextTooLong { limit: None }),
        (422, RefusalKind::Request),
        (425, RefusalKind::Unavailable),
        (429, RefusalKind::RateLimited),
        (500, RefusalKind::Unavailable),
        (503, RefusalKind::Unavailable),
        (529, RefusalKind::Unavailable),
    ] {
        assert_eq!(refusal(status, "").kind, wanted, "{status}");
    }
    let empty = json!({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}});
    assert_eq!(kind_of(429, &empty), RefusalKind::OutOfCredit);
}

#[test]
fn an_error_of_a_stream_is_one_that_may_pass_unless_it_says_otherwise() {
    let kind = |code: &str, status| {
        let error = ErrorBody {
            code: code.into(),
            ..ErrorBody::default()
        };
        Refusal::of_stream(status, &error, None).kind
    };
    assert_eq!(kind("", None), RefusalKind::Unavailable);
    assert_eq!(kind("invalid_request_error", None), RefusalKind::Request);
    assert_eq!(kind("rate_limit_exceeded", None), RefusalKind::RateLimited);
    assert_eq!(kind("", Some(401)), RefusalKind::KeyRefused);
    assert_eq!(
        kind("context_length_exceeded", None),
        RefusalKind::ContextTooLong { limit: None }
    );
}

#[test]
fn no_key_is_in_a_refusal_and_not_more_than_a_page() {
    let key = Secret::new("plain-words-key");
    let body = format!("{}plain-words-key {}", "a ".repeat(1000), "ß".repeat(5000));
    let mut headers = HeaderMap::new();
    headers.insert("x-request-id", "of-plain-words-key".parse().unwrap());
    let refusal = Refusal::of_response(401, &headers, &body, Some(&key));
    let told = format!("{refusal} {refusal:?}");
    assert!(!told.contains("plain-words"), "{told}");
    assert!(told.contains("[redacted]"));
    assert!(refusal.message.len() <= KEPT + " […]".len());
    assert_eq!(refusal.request_id.as_deref(), Some("of-[redacted]"));
}

#[test]
fn a_refusal_tells_what_the_operator_needs() {
    let mut headers = HeaderMap::new();
    headers.insert("x-request-id", "req_1".parse().unwrap());
    let refusal = Refusal::of_response(400, &headers, r#"{"error":{"message":"no"}}"#, None);
    assert_eq!(refusal.to_string(), "status 400, request req_1: no");
    assert_eq!(
        self::refusal(502, " ").to_string(),
        "status 502, without a word"
    );
}

#[test]
fn the_wait_that_a_server_wants_comes_in_three_ways() {
    let wait = |headers: &[(&'static str, &str)]| {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        // Sun, 06 Nov 1994 08:49:37 GMT.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        retry_after(&map, now)
    };
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(wait(&[("retry-after", "7")]), seconds(7));
    assert_eq!(
        wait(&[("retry-after", "0.5")]),
        Some(Duration::from_millis(500))
    );
    assert_eq!(
        wait(&[("retry-after", "7"), ("retry-after-ms", "20")]),
        Some(Duration::from_millis(20))
    );
    let date = ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT");
    assert_eq!(wait(&[date]), seconds(30));
    // A server whose clock is slow means its own.
    assert_eq!(
        wait(&[date, ("date", "Sun, 06 Nov 1994 08:50:00 GMT")]),
        seconds(7)
    );
    assert_eq!(
        wait(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]),
        seconds(0)
    );
    for nonsense in ["", "soon", "-1", "NaN", "inf", "1e99"] {
        assert_eq!(wait(&[("retry-after", nonsense)]), None, "{nonsense}");
    }
}
