//! Behaviour of a broken or busy Consul.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cts_consul::{
    ConsulClient, ConsulSettings, MAX_RETRY_DELAY, MIN_REQUEST_INTERVAL, Query, poll,
};
use cts_testkit::eventually;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::{AskHealth as _, DEADLINE, Poll, client, ids, settings, view};

fn answer(index: &str, id: &str) -> ResponseTemplate {
    let body = json!([{"Node": {"Node": "n"}, "Service": {"ID": id, "Service": "web"}}]);
    ResponseTemplate::new(200)
        .insert_header("x-consul-index", index)
        .set_body_json(body)
}

/// Gives these answers one after the other, then holds its breath; notes index and time of requests.
#[derive(Clone)]
struct Script {
    answers: Arc<Vec<ResponseTemplate>>,
    requests: Arc<Mutex<Vec<(String, Instant)>>>,
}

impl Script {
    async fn serve(answers: Vec<ResponseTemplate>) -> (MockServer, Self) {
        let script = Self {
            answers: Arc::new(answers),
            requests: Arc::default(),
        };
        let server = MockServer::start().await;
        Mock::given(any())
            .respond_with(script.clone())
            .mount(&server)
            .await;
        (server, script)
    }

    /// The `index` parameters so far, empty where there was none.
    fn indexes(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|(index, _)| index.clone()).collect()
    }
}

impl Respond for Script {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let index = request.url.query_pairs().find(|(key, _)| key == "index");
        let index = index.map_or_else(String::new, |(_, value)| value.into_owned());
        let mut requests = self.requests.lock().unwrap();
        let given = self.answers.get(requests.len()).cloned();
        requests.push((index, Instant::now()));
        given.unwrap_or_else(|| answer("1", "late").set_delay(Duration::from_mins(5)))
    }
}

/// Longest answer that a test accepts.
const LONGEST: usize = 4096;

/// A proxy or an endpoint that does not hold queries.
#[tokio::test]
async fn answers_without_an_index_are_asked_for_from_time_to_time() {
    let plain = |id: &str| {
        let body = json!([{"Node": {"Node": "n"}, "Service": {"ID": id, "Service": "web"}}]);
        ResponseTemplate::new(200).set_body_json(body)
    };
    let answers = vec![plain("a"), plain("b"), answer("7", "c"), answer("8", "d")];
    let (server, script) = Script::serve(answers).await;
    let settings = ConsulSettings {
        poll_interval: Duration::from_millis(400),
        ..settings(&server.uri())
    };
    let mut poll = Poll::start(ConsulClient::new(&settings).unwrap(), view("web"));
    for id in ["a", "b", "c", "d"] {
        assert_eq!(ids(&poll.snapshot().await), [id]);
    }
    assert_eq!(script.indexes(), ["", "", "", "7"]);
    let requests = script.requests.lock().unwrap();
    let pauses = requests.windows(2).map(|pair| pair[1].1 - pair[0].1);
    let pauses: Vec<_> = pauses.take(2).collect();
    let early = Duration::from_millis(390);
    assert!(pauses.iter().all(|pause| *pause >= early), "{pauses:?}");
}

#[tokio::test]
async fn queries_say_how_long_consul_may_hold_them() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(answer("5", "a"))
        .mount(&server)
        .await;
    let client = client(&server.uri());
    for index in [0, 4] {
        client.health_service(&view("web"), index).await.unwrap();
    }
    let requests = server.received_requests().await.unwrap();
    let wait = |request: &Request| {
        let mut pairs = request.url.query_pairs();
        pairs.find_map(|(key, value)| (key == "wait").then(|| value.into_owned()))
    };
    let waits: Vec<_> = requests.iter().map(wait).collect();
    assert_eq!(waits, [None, Some("300s".to_owned())]);
}

#[tokio::test]
async fn an_index_that_goes_back_is_forgotten() {
    let answers = vec![answer("50", "a"), answer("7", "b"), answer("7", "c")];
    let (server, script) = Script::serve(answers).await;
    let mut poll = Poll::start(client(&server.uri()), view("web"));
    assert_eq!(ids(&poll.snapshot().await), ["a"]);
    assert_eq!(ids(&poll.snapshot().await), ["c"]);
    assert_eq!(script.indexes(), ["", "50", ""]);
}

#[tokio::test]
async fn an_equal_index_is_no_news() {
    let answers = vec![answer("5", "a"), answer("5", "b"), answer("6", "c")];
    let (server, script) = Script::serve(answers).await;
    let mut poll = Poll::start(client(&server.uri()), view("web"));
    assert_eq!(ids(&poll.snapshot().await), ["a"]);
    assert_eq!(ids(&poll.snapshot().await), ["c"]);
    assert_eq!(script.indexes(), ["", "5", "5"]);
}

#[tokio::test]
async fn every_fault_is_reported_and_the_next_request_has_no_index() {
    let faults = [
        (
            ResponseTemplate::new(500).set_body_string(" rpc error\n"),
            "Unexpected response code: 500 (rpc error)",
        ),
        (
            ResponseTemplate::new(429).set_body_string("busy"),
            "Unexpected response code: 429 (busy)",
        ),
        (
            ResponseTemplate::new(403).set_body_string("Permission denied"),
            "missing required Consul ACL: Unexpected response code: 403 (Permission denied)",
        ),
        (
            answer("9", "x").set_body_string("[{\"Node\":"),
            "cannot decode the answer of consul: EOF",
        ),
        (
            answer("0", "x"),
            "the answer cannot be one of consul: its index is 0",
        ),
        (
            answer("x", "x"),
            "the answer cannot be one of consul: its index is not a number",
        ),
        (
            answer("9", "x").set_body_string("null"),
            "cannot decode the answer of consul: invalid type: null",
        ),
        (
            ResponseTemplate::new(200).set_body_string("<html>Sign in</html>"),
            "cannot decode the answer of consul: expected value",
        ),
        (
            answer("9", "x").insert_header("x-consul-knownleader", "false"),
            "consul answers without a leader of its cluster",
        ),
        (
            answer("9", &"x".repeat(LONGEST)),
            "the answer of consul is longer than 4096 bytes",
        ),
    ];
    for (fault, text) in faults {
        let answers = vec![answer("5", "a"), fault, answer("3", "b")];
        let (server, script) = Script::serve(answers).await;
        let settings = ConsulSettings {
            longest_answer: LONGEST,
            ..settings(&server.uri())
        };
        let client = ConsulClient::new(&settings).unwrap();
        let mut poll = Poll::start(client, view("web"));
        assert_eq!(ids(&poll.snapshot().await), ["a"]);
        let (message, failures, retry_after) = poll.failure().await;
        assert!(message.starts_with(text), "{message}");
        assert_eq!(failures, 1);
        assert!(retry_after < MAX_RETRY_DELAY);
        assert_eq!(ids(&poll.snapshot().await), ["b"], "{text}");
        assert_eq!(script.indexes(), ["", "5", ""], "{text}");
    }
}

#[tokio::test]
async fn a_bad_request_is_repeated_slowly() {
    let bad = ResponseTemplate::new(400).set_body_string("Invalid filter");
    let (server, _script) = Script::serve(vec![bad]).await;
    let mut poll = Poll::start(client(&server.uri()), view("web"));
    let (message, _, retry_after) = poll.failure().await;
    assert_eq!(message, "Unexpected response code: 400 (Invalid filter)");
    assert_eq!(retry_after, MAX_RETRY_DELAY);
}

#[tokio::test]
async fn failures_in_a_row_are_counted_until_an_answer_comes() {
    let busy = || ResponseTemplate::new(503);
    let answers = vec![busy(), busy(), answer("3", "a"), busy()];
    let (server, _script) = Script::serve(answers).await;
    let mut poll = Poll::start(client(&server.uri()), view("web"));
    assert_eq!(poll.failure().await.1, 1);
    assert_eq!(poll.failure().await.1, 2);
    assert_eq!(ids(&poll.snapshot().await), ["a"]);
    assert_eq!(poll.failure().await.1, 1);
}

#[tokio::test]
async fn answers_are_handed_on_before_the_pause_between_requests() {
    let answers: Vec<_> = (1..=5)
        .map(|index| answer(&index.to_string(), "a"))
        .collect();
    let count = answers.len();
    let (server, script) = Script::serve(answers).await;
    let handed_on = Mutex::new(Vec::new());
    let started = Instant::now();
    let (client, query) = (client(&server.uri()), Query::health(view("web")));
    let poll = poll(&client, &query, |_| {
        handed_on.lock().unwrap().push(Instant::now());
    });
    let all_asked = eventually(DEADLINE, async || match script.indexes().len() {
        asked if asked > count => Ok(()),
        asked => Err(format!("{asked} requests")),
    });
    tokio::select! {
        never = poll => match never {},
        () = all_asked => {}
    }
    let requested: Vec<_> = script
        .requests
        .lock()
        .unwrap()
        .iter()
        .map(|r| r.1)
        .collect();
    for (number, at) in (0..).zip(&requested) {
        assert!(*at - started >= MIN_REQUEST_INTERVAL * number);
    }
    let handed_on = handed_on.into_inner().unwrap();
    let delays = requested
        .iter()
        .zip(&handed_on)
        .map(|(from, to)| *to - *from);
    // One is enough, so that a busy machine does no harm.
    assert!(delays.min().unwrap() < MIN_REQUEST_INTERVAL / 2);
}

#[tokio::test]
async fn a_silent_consul_is_given_up_on() {
    let slow = answer("1", "a").set_delay(Duration::from_mins(1));
    let (server, _script) = Script::serve(vec![slow, answer("2", "b")]).await;
    let settings = ConsulSettings {
        silence_timeout: Duration::from_millis(200),
        ..settings(&server.uri())
    };
    let mut poll = Poll::start(ConsulClient::new(&settings).unwrap(), view("web"));
    let (message, _, _) = poll.failure().await;
    assert!(message.contains("timed out"), "{message}");
    assert_eq!(ids(&poll.snapshot().await), ["b"]);
}

#[tokio::test]
async fn a_connection_that_breaks_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut poll = Poll::start(client(&address), view("web"));
    let break_off = async {
        for _ in 0..3 {
            // The system resets a connection with unread bytes in it.
            let (socket, _) = listener.accept().await.unwrap();
            socket.readable().await.unwrap();
        }
    };
    let (message, failures, _) = tokio::select! {
        failure = poll.failure() => failure,
        () = break_off => poll.failure().await,
    };
    assert!(message.starts_with("cannot reach consul: "), "{message}");
    assert_eq!(failures, 1);
}

#[tokio::test]
async fn a_consul_that_speaks_no_tls_is_said_in_these_words() {
    let (server, _script) = Script::serve(vec![answer("1", "a")]).await;
    let address = server.uri().replace("http://", "https://");
    let mut poll = Poll::start(client(&address), view("web"));
    let (message, _, _) = poll.failure().await;
    assert!(
        message.starts_with("cannot reach consul, which answers in plain HTTP: the address should begin with http://"),
        "{message}"
    );
}

#[tokio::test]
async fn dropping_the_loop_ends_its_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut poll = Poll::start(client(&address), view("web"));
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut request = [0; 4096];
    assert!(socket.read(&mut request).await.unwrap() > 0);
    poll.tasks.shutdown().await;
    let rest = timeout(DEADLINE, socket.read(&mut request)).await;
    assert_eq!(rest.unwrap().unwrap_or(0), 0);
}
