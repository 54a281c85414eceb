//! Chains of handlers that wait for moments instead of minutes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::{ProviderBlock, ProviderId, TaskName};
use cts_handlers::{AppliedRun, HandlerRequest, Handlers, Pace};
use cts_runtime::SystemClock;
use serde_json::{Map, Value};

/// Short waits.
pub(crate) const PACE: Pace = Pace {
    first_retry: Duration::from_millis(5),
    poll: Duration::from_millis(5),
    longest: Duration::from_secs(30),
};

pub(crate) fn handlers(pace: Pace) -> Handlers {
    Handlers::new(pace, Arc::new(SystemClock))
}

/// A request of a task without handlers.
pub(crate) fn request() -> HandlerRequest {
    HandlerRequest {
        task: TaskName::new("edge").unwrap(),
        providers: Vec::new(),
        names: Vec::new(),
        webhooks: Vec::new(),
        environment: BTreeMap::new(),
    }
}

/// A provider block that a task selects.
pub(crate) fn provider(name: &str, arguments: Value) -> (ProviderId, Option<ProviderBlock>) {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    let block = ProviderBlock {
        name: name.to_owned(),
        alias: None,
        arguments: arguments.into_iter().collect::<Map<_, _>>(),
        blocks: std::collections::BTreeSet::new(),
        task_env: BTreeMap::new(),
    };
    (ProviderId::from(name), Some(block))
}

pub(crate) fn applied() -> AppliedRun {
    AppliedRun {
        task: "edge".to_owned(),
        run: "00000000-0000-7000-8000-000000000001".to_owned(),
        key: "00000000-0000-7000-8000-000000000001.3.0123".to_owned(),
        attempt: 2,
        input: "0123".to_owned(),
        services: vec!["api".to_owned(), "web".to_owned()],
        at: DateTime::<Utc>::from_timestamp(1_700_000_000, 5_000_000).unwrap(),
    }
}
