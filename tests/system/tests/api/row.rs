//! One row of a table: a request, and the expected answer.

use cts_core::ErrorCode;
use serde_json::Value;

use crate::api::scene::Scene;
use crate::api::wire::{Answer, Request};

/// The expected content of an answer beyond its status.
#[derive(Debug)]
pub(crate) enum Body {
    /// Nothing, and no content type.
    Empty,
    /// Nothing, and these methods in the header `Allow`.
    Allow(&'static str),
    /// Nothing, with the content type of the error that is not sent.
    Head(&'static str),
    /// The plain text for paths that are not there.
    NotFound,
    /// JSON with an id of the request and at least these members.
    New(Value),
    /// JSON without an id of the request, with at least these members.
    Legacy(Value),
    /// An error with an id, whose message has all these parts.
    NewError(Vec<String>),
    /// An error without one.
    LegacyError(Vec<String>),
}

/// A request and its answer.
#[derive(Debug)]
pub(crate) struct Row {
    request: Request,
    status: u16,
    body: Body,
}

/// An error of the new family, of whose message this is a part.
pub(crate) fn new_error(part: &str) -> Body {
    Body::NewError(vec![part.to_owned()])
}

/// An error of the legacy family, of whose message this is a part.
pub(crate) fn legacy_error(part: &str) -> Body {
    Body::LegacyError(vec![part.to_owned()])
}

impl Request {
    /// A row that demands this answer.
    pub(crate) const fn gives(self, status: u16, body: Body) -> Row {
        Row {
            request: self,
            status,
            body,
        }
    }
}

/// Sends every request and shows together all rows whose answers differ.
pub(crate) async fn check(scene: &Scene, rows: &[Row]) {
    let mut wrong = Vec::new();
    for row in rows {
        let answer = scene.send(&row.request).await;
        if let Err(reason) = row.fits(&answer) {
            wrong.push(format!("{}\n    {answer}\n    {reason}", row.request));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} rows:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

impl Row {
    fn fits(&self, answer: &Answer) -> Result<(), String> {
        same("status", answer.status, self.status)?;
        for (name, value) in [
            ("Access-Control-Allow-Origin", "*"),
            ("Access-Control-Allow-Headers", "Content-Type"),
            (
                "Access-Control-Allow-Methods",
                "GET, PUT, PATCH, POST, DELETE",
            ),
        ] {
            same(name, answer.header(name), Some(value))?;
        }
        let plain = "text/plain; charset=utf-8";
        let content_type = match self.body {
            Body::Empty | Body::Allow(_) => None,
            Body::Head(content_type) => Some(content_type),
            Body::NotFound => Some(plain),
            _ => Some("application/json"),
        };
        same("Content-Type", answer.header("Content-Type"), content_type)?;
        let nosniff = (content_type == Some(plain)).then_some("nosniff");
        same(
            "X-Content-Type-Options",
            answer.header("X-Content-Type-Options"),
            nosniff,
        )?;
        let allow = match self.body {
            Body::Allow(methods) => Some(methods),
            _ => None,
        };
        same("Allow", answer.header("Allow"), allow)?;
        same("Server", answer.header("Server"), None)?;
        self.body.fits(answer)
    }
}

impl Body {
    fn fits(&self, answer: &Answer) -> Result<(), String> {
        match self {
            Self::Empty | Self::Allow(_) | Self::Head(_) => {
                same("body", answer.text().as_str(), "")
            }
            Self::NotFound => same("body", answer.text().as_str(), "404 page not found\n"),
            Self::New(expected) => {
                let got = json_of(answer)?;
                request_id(&got)?;
                within(&got, expected, "")
            }
            Self::Legacy(expected) => {
                let got = json_of(answer)?;
                same("request_id", got.get("request_id"), None)?;
                within(&got, expected, "")
            }
            Self::NewError(parts) => {
                let got = json_of(answer)?;
                request_id(&got)?;
                error_of(&got, 2, parts)
            }
            Self::LegacyError(parts) => error_of(&json_of(answer)?, 1, parts),
        }
    }
}

fn json_of(answer: &Answer) -> Result<Value, String> {
    serde_json::from_slice(&answer.body).map_err(|error| error.to_string())
}

fn error_of(got: &Value, members: usize, parts: &[String]) -> Result<(), String> {
    let outer = got.as_object().map_or(0, serde_json::Map::len);
    same("number of members", outer, members)?;
    let inner = got["error"].as_object().map_or(0, serde_json::Map::len);
    same("number of members of error", inner, 2)?;
    let code = got["error"]["code"].as_str().unwrap_or_default();
    if !ErrorCode::ALL.iter().any(|known| known.as_str() == code) {
        return Err(format!("{code:?} is no code"));
    }
    let message = got["error"]["message"].as_str().unwrap_or_default();
    for part in parts {
        if !message.contains(part) {
            return Err(format!("the message lacks {part:?}"));
        }
    }
    Ok(())
}

/// Panics unless `value` has the id of a request: 32 lower-case hexadecimal digits in their groups.
pub(crate) fn request_id(value: &Value) -> Result<String, String> {
    let id = value["request_id"].as_str().ok_or("no request_id")?;
    let groups: Vec<&str> = id.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    same("lengths in request_id", lengths, vec![8, 4, 4, 4, 12])?;
    let digits = groups.concat();
    if digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    {
        Ok(id.to_owned())
    } else {
        Err(format!("{id} is no request id"))
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "callers compare what they have just made"
)]
fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected {
        Ok(())
    } else {
        Err(format!("{what} is {got:?}, not {expected:?}"))
    }
}

/// Whether `got` has all of `expected`: objects may have more members, everything else is the same.
pub(crate) fn within(got: &Value, expected: &Value, path: &str) -> Result<(), String> {
    match (got, expected) {
        (Value::Object(got), Value::Object(expected)) => {
            for (key, expected) in expected {
                let path = format!("{path}/{key}");
                let got = got.get(key).ok_or_else(|| format!("{path} is missing"))?;
                within(got, expected, &path)?;
            }
            Ok(())
        }
        (Value::Array(items), Value::Array(expected)) if items.len() == expected.len() => items
            .iter()
            .zip(expected)
            .enumerate()
            .try_for_each(|(index, (got, expected))| {
                within(got, expected, &format!("{path}/{index}"))
            }),
        _ => same(path, got, expected),
    }
}
