//! A call of the API without its transport, and its answer.

use axum::http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::caller::{Caller, Right};

/// A call whose token is valid.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// Parts of the path below the base path.
    pub(super) path: Vec<&'a str>,
    pub(super) query: &'a [(String, String)],
    pub(super) body: &'a Value,
    pub(super) caller: &'a Caller,
}

/// Answer to a call: done or refused.
pub(super) type Answered = Result<Reply, RefusedCall>;

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Option<Value>,
}

impl Reply {
    pub(super) fn document(status: StatusCode, data: Value) -> Self {
        Self {
            status,
            body: Some(Value::from_iter([("data", data)])),
        }
    }

    pub(super) fn ok(data: Value) -> Self {
        Self::document(StatusCode::OK, data)
    }

    pub(super) fn created(data: Value) -> Self {
        Self::document(StatusCode::CREATED, data)
    }

    pub(super) const fn empty(status: StatusCode) -> Self {
        Self { status, body: None }
    }
}

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusedCall {
    pub(super) status: StatusCode,
    title: &'static str,
    detail: String,
    pointer: Option<String>,
}

impl RefusedCall {
    fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            title,
            detail: detail.into(),
            pointer: None,
        }
    }

    pub(super) fn bad_request(detail: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad request", detail)
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "")
    }

    pub(super) fn not_found() -> Self {
        let detail = "The requested resource could not be found.";
        Self::new(StatusCode::NOT_FOUND, "not found", detail)
    }

    pub(super) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    /// A refused action on a run.
    pub(super) fn transition() -> Self {
        Self::conflict("transition not allowed")
    }

    pub(super) fn invalid(attribute: &str, detail: impl Into<String>) -> Self {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let mut refusal = Self::new(status, "invalid attribute", detail);
        refusal.pointer = Some(format!("/data/attributes/{attribute}"));
        refusal
    }

    pub(super) fn media_type() -> Self {
        let detail = "The request body must be application/vnd.api+json.";
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "invalid content type",
            detail,
        )
    }

    pub(super) fn document(&self) -> Value {
        let mut error = json!({"status": self.status.as_str(), "title": self.title});
        if !self.detail.is_empty() {
            error["detail"] = json!(self.detail);
        }
        if let Some(pointer) = &self.pointer {
            error["source"] = json!({"pointer": pointer});
        }
        json!({"errors": [error]})
    }
}

impl Call<'_> {
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let mut found = self.query.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// Attributes of the document of that type.
    pub(super) fn attributes(&self, kind: &str) -> Result<Map<String, Value>, RefusedCall> {
        let data = &self.body["data"];
        if data["type"] != kind {
            return Err(RefusedCall::invalid("type", format!("Type must be {kind}")));
        }
        Ok(data["attributes"].as_object().cloned().unwrap_or_default())
    }

    /// Identifier of what a relationship of the document points to.
    pub(super) fn related(&self, name: &str) -> Option<&str> {
        self.body["data"]["relationships"][name]["data"]["id"].as_str()
    }

    /// Refuses a caller without a right, and hides that there is something.
    pub(super) fn needs(&self, right: Right) -> Result<(), RefusedCall> {
        if self.caller.may(right) {
            Ok(())
        } else {
            Err(RefusedCall::not_found())
        }
    }

    /// The page of a list that was requested.
    pub(super) fn page(&self, items: Vec<Value>) -> Reply {
        let number = |name: &str, default: usize| {
            let given = self.parameter(name).and_then(|text| text.parse().ok());
            given.unwrap_or(default).max(1)
        };
        let (current, size) = (number("page[number]", 1), number("page[size]", 20).min(100));
        let total = items.len();
        let pages = total.div_ceil(size).max(1);
        let page: Vec<Value> = items
            .into_iter()
            .skip((current - 1) * size)
            .take(size)
            .collect();
        let next = (current < pages).then_some(current + 1);
        let previous = (current > 1).then(|| current - 1);
        let pagination = json!({
            "current-page": current, "page-size": size, "prev-page": previous,
            "next-page": next, "total-pages": pages, "total-count": total,
        });
        Reply {
            status: StatusCode::OK,
            body: Some(json!({"data": page, "meta": {"pagination": pagination}})),
        }
    }
}

/// A reference to another document.
pub(super) fn reference(kind: &str, id: &str) -> Value {
    json!({"data": {"type": kind, "id": id}})
}

/// A new identifier, such as `ws-0123456789abcdef`.
pub(super) fn identifier(prefix: &str) -> String {
    let random = Uuid::new_v4().simple().to_string();
    let short: String = random.chars().take(16).collect();
    format!("{prefix}-{short}")
}
