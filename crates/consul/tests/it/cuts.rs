//! Quiet queries whose connections a server or a proxy ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cts_consul::{ConsulSettings, PollEvent};
use cts_testkit::{ConsulAgent, Link, TcpProxy, eventually};
use serde_json::json;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::many::{Many, instance, ports, register, services};
use crate::secure::Secure;
use crate::{DEADLINE, Poll, client, ids, settings, view};

/// A little longer than what makes a cut a limit.
const LIMIT: Duration = Duration::from_millis(5500);
/// A change that is not seen is seen later than this.
const SEEN: Duration = Duration::from_secs(2);

async fn proxy_of(consul: &ConsulAgent) -> TcpProxy {
    TcpProxy::start(consul.address().parse().unwrap()).await
}

#[tokio::test]
async fn views_that_are_cut_stay_current_and_cost_little_more_than_a_shorter_wait() {
    const VIEWS: usize = 30;
    let consul = ConsulAgent::start().await;
    register(&consul, VIEWS).await;
    let proxy = proxy_of(&consul).await;
    proxy.set_link(Link::EndsQuiet(LIMIT));
    let begun = Instant::now();
    let settings = settings(&proxy.address().to_string());
    // Each wait for an event panics at a failure.
    let mut many = Many::start(&settings, services(VIEWS));
    many.all(VIEWS).await;
    let mut cuts = Vec::new();
    for (number, at) in [(3, 9), (7, 20), (11, 40)] {
        let quiet = timeout_at(begun + Duration::from_secs(at), many.next()).await;
        assert!(quiet.is_err(), "{quiet:?}");
        cuts.push(proxy.ended());
        instance(&consul, number, 81).await;
        let changed = timeout(SEEN, many.change_of(number)).await;
        assert_eq!(ports(&changed.unwrap()), [81]);
    }
    assert!(cuts[1] >= 2 * VIEWS, "{cuts:?}");
    assert!(cuts[2] - cuts[1] <= VIEWS / 10, "{cuts:?}");
    // Thousandths of a request: the wait is 4 s, to which Consul adds up to a sixteenth.
    let waits = begun.elapsed().as_millis() * 1000 / 4125;
    let [views, reads] = [VIEWS, proxy.reads()].map(|count| u128::try_from(count).unwrap());
    let cost = views * (1000 + waits);
    assert!(
        reads * 10_000 <= 12 * cost,
        "{reads} requests, and {cost} thousandths would do"
    );
}

/// Queries that share a connection are cut together.
#[tokio::test]
async fn over_http2_views_that_are_cut_stay_current() {
    const VIEWS: usize = 20;
    let secure = Secure::start().await;
    register(&secure.consul, VIEWS).await;
    let straight = secure.settings();
    let proxy = TcpProxy::start(straight.address.parse().unwrap()).await;
    proxy.set_link(Link::EndsQuiet(LIMIT));
    let settings = ConsulSettings {
        address: proxy.address().to_string(),
        ..straight
    };
    let mut many = Many::start(&settings, services(VIEWS));
    many.all(VIEWS).await;
    let quiet = timeout(3 * LIMIT, many.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    assert!(proxy.ended() >= 2, "{} cuts", proxy.ended());
    instance(&secure.consul, 7, 81).await;
    let changed = timeout(SEEN, many.change_of(7)).await;
    assert_eq!(ports(&changed.unwrap()), [81]);
}

#[tokio::test]
async fn an_agent_that_is_replaced_during_a_quiet_wait_is_seen_at_once() {
    let (old, new) = (ConsulAgent::start().await, ConsulAgent::start().await);
    for number in 0..200 {
        old.kv_put("counter", number.to_string()).await;
    }
    old.register_service("web", "old", 80, &[], &[]).await;
    let proxy = proxy_of(&old).await;
    let mut poll = Poll::start(client(&proxy.address().to_string()), view("web"));
    assert_eq!(ids(&poll.snapshot().await), ["old"]);
    let quiet = timeout(Duration::from_secs(10), poll.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    proxy.set_server(new.address().parse().unwrap());
    let seen = timeout(SEEN, poll.snapshot()).await;
    assert_eq!(ids(&seen.unwrap()), Vec::<&str>::new());
    new.register_service("web", "new", 80, &[], &[]).await;
    let seen = timeout(SEEN, poll.snapshot()).await;
    assert_eq!(ids(&seen.unwrap()), ["new"]);
}

#[tokio::test]
async fn a_cut_whose_read_fails_is_an_outage_since_the_cut() {
    const VIEWS: usize = 5;
    let consul = ConsulAgent::start().await;
    register(&consul, VIEWS).await;
    let proxy = proxy_of(&consul).await;
    let settings = settings(&proxy.address().to_string());
    let mut many = Many::start(&settings, services(VIEWS));
    many.all(VIEWS).await;
    sleep_until(Instant::now() + LIMIT).await;
    let cut = Instant::now();
    proxy.set_link(Link::Cut);
    let mut failures = BTreeMap::new();
    while failures.len() < VIEWS {
        let event = timeout(DEADLINE, many.events.recv()).await.unwrap();
        let (number, event) = event.unwrap();
        let PollEvent::Failure {
            failures: 1,
            failing_for,
            ..
        } = event
        else {
            continue;
        };
        let since = Instant::now() - failing_for;
        assert!(since >= cut && since - cut < SEEN / 4, "{failing_for:?}");
        failures.insert(number, failing_for);
    }
    let last = failures.values().max();
    assert!(last > Some(&(SEEN / 4)), "the reads are spread: {last:?}");
    // As after each outage.
    proxy.set_link(Link::Open);
    instance(&consul, 2, 81).await;
    eventually(DEADLINE, async || {
        while let Ok((number, event)) = many.events.try_recv() {
            if let PollEvent::Snapshot { items, .. } = event {
                many.known.insert(number, items);
            }
        }
        let ports = ports(&many.known[&2]);
        (ports == [81]).then_some(()).ok_or(format!("{ports:?}"))
    })
    .await;
}

/// Gives these answers one after the other, then none; notes how the requests ask.
#[derive(Clone)]
struct Script {
    answers: Arc<Vec<ResponseTemplate>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Respond for Script {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut pairs = request.url.query_pairs();
        let kind = pairs.find_map(|(key, value)| match &*key {
            "index" => Some(format!("index {value}")),
            "consistent" => Some("consistent".to_owned()),
            _ => None,
        });
        let mut requests = self.requests.lock().unwrap();
        let given = self.answers.get(requests.len()).cloned();
        requests.push(kind.unwrap_or_else(|| "plain".to_owned()));
        given.unwrap_or_else(|| ResponseTemplate::new(500).set_delay(Duration::from_mins(5)))
    }
}

fn answer(index: u64, id: &str) -> ResponseTemplate {
    ResponseTemplate::new(200)
        .insert_header("x-consul-index", index.to_string())
        .set_body_json(json!([{"Node": {"Node": "n"}, "Service": {"ID": id, "Service": "web"}}]))
}

/// A proxy has waited long enough for its server.
fn late() -> ResponseTemplate {
    ResponseTemplate::new(504).set_delay(LIMIT)
}

/// The ids of each snapshot that these answers give, up to this number, and the requests for them.
async fn snapshots_of(
    answers: Vec<ResponseTemplate>,
    count: usize,
) -> (Vec<Vec<String>>, Vec<String>) {
    let script = Script {
        answers: Arc::new(answers),
        requests: Arc::default(),
    };
    let server = MockServer::start().await;
    let mock = Mock::given(any()).respond_with(script.clone());
    mock.mount(&server).await;
    let mut poll = Poll::start(client(&server.uri()), view("web"));
    let mut snapshots = Vec::new();
    for _ in 0..count {
        let instances = poll.snapshot().await;
        snapshots.push(ids(&instances).into_iter().map(str::to_owned).collect());
    }
    eventually(DEADLINE, async || {
        let requests = script.requests.lock().unwrap().clone();
        let is_last = requests.len() > script.answers.len();
        is_last.then_some(()).ok_or(format!("{requests:?}"))
    })
    .await;
    assert!(poll.events.try_recv().is_err(), "no further event");
    let requests = script.requests.lock().unwrap().clone();
    (snapshots, requests)
}

#[tokio::test]
async fn an_equal_answer_after_a_cut_is_no_news_and_the_wait_goes_on() {
    let answers = vec![answer(5, "a"), late(), answer(5, "a")];
    let (snapshots, requests) = snapshots_of(answers, 1).await;
    assert_eq!(snapshots, [["a"]]);
    assert_eq!(requests, ["consistent", "index 5", "plain", "index 5"]);
}

#[tokio::test]
async fn other_content_or_a_lower_index_after_a_cut_is_read_consistently() {
    for other in [answer(5, "b"), answer(4, "b"), answer(6, "b")] {
        let answers = vec![answer(5, "a"), late(), other.clone(), other];
        let (snapshots, requests) = snapshots_of(answers, 2).await;
        assert_eq!(snapshots, [["a"], ["b"]]);
        let begin = ["consistent", "index 5", "plain", "consistent"];
        assert_eq!(requests[..4], begin);
    }
}
