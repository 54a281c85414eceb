//! Keys whose values cannot be passed on.

use std::sync::Arc;

use cts_core::{Condition, ConsulKvCondition, Item, KeyValue, KvQuery, TaskSpec};
use cts_proto::run::v1 as run;
use cts_proto::task::v1::ObstacleKind;
use cts_scheduler::{Mode, Options};
use cts_store::Store;

use crate::faulty_store::Fault;
use crate::setup::{Setup, member, store_in, task};

fn prefix() -> KvQuery {
    KvQuery {
        path: "a/".to_owned(),
        recurse: true,
        ..KvQuery::default()
    }
}

pub(crate) fn on_keys(name: &str) -> TaskSpec {
    let mut spec = task(name);
    spec.definition.condition = Condition::ConsulKv(ConsulKvCondition {
        query: prefix(),
        use_as_module_input: true,
    });
    spec
}

/// A scheduler of `t`, which is on keys.
async fn over(store: Arc<impl Store + 'static>, mode: Mode) -> Setup {
    let options = Options {
        mode,
        ..Options::alone(vec![on_keys("t")], member())
    };
    Setup::over(store, options).await
}

impl Setup {
    /// Consul has these keys, with their values where they have one.
    pub(crate) fn shows(&self, keys: &[(&str, Option<&str>)]) {
        let keys = keys.iter().map(|&(key, value)| match value {
            Some(value) => Item::from(KeyValue {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            None => Item::UnreadableKey(key.into()),
        });
        self.watcher.show_keys(keys.collect());
    }

    /// The keys and values in the input of a lease.
    async fn keys_of(&self, lease: &run::Lease) -> Vec<(String, String)> {
        let input = self.input(lease).await;
        let pairs = input.consul_kv.iter();
        pairs
            .map(|pair| (pair.key.clone(), pair.value.clone()))
            .collect()
    }

    /// Leases the next run, which must have these keys.
    async fn begins(&self, expected: &[(&str, &str)]) -> run::Lease {
        let lease = self.acquired().await;
        let keys = self.keys_of(&lease).await;
        let keys: Vec<_> = keys.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(keys, expected);
        lease
    }

    /// Applies the next run, which must have these keys.
    async fn applies(&self, expected: &[(&str, &str)]) {
        let lease = self.begins(expected).await;
        self.applied(&lease).await;
    }

    async fn obstacle(&self, kind: ObstacleKind) -> String {
        self.until(async |setup| {
            let mut obstacles = setup.explained("t").await.obstacles.into_iter();
            let found = obstacles.find(|obstacle| obstacle.kind() == kind)?;
            found.text.contains("UTF-8").then_some(found.text)
        })
        .await
    }
}

#[tokio::test]
async fn unreadable_key_keeps_its_value_and_readable_keys_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let setup = over(Arc::clone(&store), Mode::Daemon).await;
    setup.shows(&[("a/1", Some("1")), ("a/odd", Some("x"))]);
    setup.applies(&[("a/1", "1"), ("a/odd", "x")]).await;
    setup.shows(&[("a/1", Some("1")), ("a/odd", None)]);
    setup.nothing_runs().await;
    let told = setup.obstacle(ObstacleKind::ViewUnreadable).await;
    assert!(
        told.contains("kv.list(a/)") && told.contains("\"a/odd\""),
        "{told}"
    );
    setup.shows(&[("a/1", Some("2")), ("a/odd", None)]);
    setup.applies(&[("a/1", "2"), ("a/odd", "x")]).await;
    drop(setup);

    let setup = over(Arc::clone(&store), Mode::Daemon).await;
    setup.shows(&[("a/1", Some("2")), ("a/odd", None)]);
    setup.nothing_runs().await;
    setup.shows(&[("a/1", Some("3")), ("a/odd", None)]);
    setup.applies(&[("a/1", "3"), ("a/odd", "x")]).await;
    setup.shows(&[("a/1", Some("3")), ("a/odd", Some("x"))]);
    setup.nothing_runs().await;
    setup.shows(&[("a/1", Some("3")), ("a/odd", Some("y"))]);
    setup.applies(&[("a/1", "3"), ("a/odd", "y")]).await;
    setup.shows(&[("a/1", Some("3")), ("a/odd", None)]);
    setup.nothing_runs().await;
    setup.shows(&[("a/1", Some("3"))]);
    setup.applies(&[("a/1", "3")]).await;
}

#[tokio::test]
async fn a_store_that_does_not_say_what_was_applied_is_asked_again() {
    let (setup, store) = Setup::faulty(Options::alone(vec![on_keys("t")], member())).await;
    setup.shows(&[("a/1", Some("1")), ("a/odd", Some("x"))]);
    setup.applies(&[("a/1", "1"), ("a/odd", "x")]).await;
    for method in ["applied_inputs", "input", "contents"] {
        store.fail(method, &[Fault::Refused; 2]);
        setup.shows(&[("a/1", Some(method)), ("a/odd", None)]);
        setup.applies(&[("a/1", method), ("a/odd", "x")]).await;
        setup.shows(&[("a/1", Some(method)), ("a/odd", Some("x"))]);
        setup.nothing_runs().await;
        assert!(store.has_failed(method), "{method}");
    }
}
