//! One call of the API, and the promise of its answer.

use std::time::Duration;

use cts_tests::Api;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::book::{Order, Outcome, Shown};
use crate::conditions::Kind;
use crate::plan::Plan;

const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends an order and waits for the answer.
pub(super) async fn send(
    client: &Client,
    api: &Api,
    (task, destroys): (usize, bool),
    order: &Order,
) -> Outcome {
    let name = Plan::task(task);
    let query = |now: bool| if now { "?run=now" } else { "" };
    let declaration = |services: &[usize], enabled: bool| json!({"task": Kind::of(task).object(task, services, enabled, destroys)});
    let (method, path, body) = match order {
        Order::Create {
            services,
            enabled,
            now,
        } => {
            let path = format!("/v1/tasks{}", query(*now));
            (Method::POST, path, declaration(services, *enabled))
        }
        Order::Replace {
            services,
            enabled,
            now,
        } => {
            let path = format!("/v1/tasks/{name}{}", query(*now));
            (Method::PUT, path, declaration(services, *enabled))
        }
        Order::Switch { on, now } => {
            let path = format!("/v1/tasks/{name}{}", query(*now));
            (Method::PATCH, path, json!({"enabled": on}))
        }
        Order::Delete => (Method::DELETE, format!("/v1/tasks/{name}"), Value::Null),
    };
    let mut request = client.request(method, api.url(&path));
    if !body.is_null() {
        request = request
            .header("Content-Type", "application/json")
            .header("If-Match", "*")
            .body(body.to_string());
    }
    match request.send().await {
        Ok(answer) => {
            let status = answer.status();
            let text = answer.text().await.unwrap_or_default();
            outcome(order, status, &text)
        }
        Err(_lost) => Outcome::Unknown,
    }
}

/// The promise of an answer.
fn outcome(order: &Order, status: StatusCode, text: &str) -> Outcome {
    // Put in place, although the run failed: the answer says so.
    let put = matches!(order, Order::Replace { .. });
    match status.as_u16() {
        200..=299 => Outcome::Confirmed,
        422 if put => Outcome::Confirmed,
        400 | 404 | 409 => Outcome::Refused,
        _ if text.contains("is active and cannot be updated") => Outcome::Refused,
        _ => Outcome::Unknown,
    }
}

/// A task as the API shows it; `None` if it does not exist.
pub(super) async fn show(api: &Api, task: usize) -> Result<Option<Shown>, String> {
    let name = Plan::task(task);
    let path = format!("/v1/tasks/{name}");
    match timeout(READ_TIMEOUT, api.ask(&path)).await {
        Ok(Ok((404, _))) => Ok(None),
        Ok(Ok((200, answer))) => match Shown::read(&answer) {
            Some(shown) => Ok(Some(shown)),
            None => Err(format!("strange task {answer}")),
        },
        Ok(Ok((status, answer))) => Err(format!("{name}: {status} {answer}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(elapsed) => Err(elapsed.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_promise_what_they_say() {
        let replace = Order::Replace {
            services: vec![0],
            enabled: true,
            now: true,
        };
        let of = |order: &Order, status: u16, text: &str| {
            outcome(order, StatusCode::from_u16(status).unwrap(), text)
        };
        assert_eq!(of(&replace, 200, ""), Outcome::Confirmed);
        assert_eq!(of(&replace, 422, ""), Outcome::Confirmed);
        assert_eq!(of(&replace, 409, ""), Outcome::Refused);
        let busy = "task 't' is active and cannot be updated at this time";
        let switch = Order::Switch {
            on: true,
            now: true,
        };
        assert_eq!(of(&switch, 500, busy), Outcome::Refused);
        assert_eq!(of(&switch, 500, "error tf-apply"), Outcome::Unknown);
        assert_eq!(of(&Order::Delete, 503, ""), Outcome::Unknown);
        assert_eq!(of(&Order::Delete, 202, ""), Outcome::Confirmed);
    }
}
