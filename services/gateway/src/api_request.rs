//! A request of the API while it is answered.

use std::net::IpAddr;
use std::sync::Arc;

use axum::response::Response;
use cts_access::Session;
use cts_core::TraceContext;
use http::StatusCode;
use http::request::Parts;
use serde::Serialize;

use crate::authorization::visitor::Visitor;
use crate::json;
use crate::model::{IdFirst, IdLast};
use crate::options::LocalTime;
use crate::request_id::RequestId;
use crate::scheduler_client::on_behalf::OnBehalf;
use crate::transport::connection::Connection;

/// A request whose body is not read yet.
pub(crate) struct ApiRequest {
    pub(crate) head: Parts,
    pub(crate) connection: Connection,
    pub(crate) visitor: Visitor,
    /// The session of a caller of the page.
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) address: IpAddr,
    pub(crate) id: RequestId,
    /// The span of the request, if it may lead to a run.
    pub(crate) trace: Option<TraceContext>,
    /// The UTC offsets of times in the answer.
    pub(crate) local_time: LocalTime,
}

impl ApiRequest {
    /// The query as sent.
    pub(crate) fn query(&self) -> Option<&str> {
        self.head.uri.query()
    }

    /// The client, for the schedulers.
    pub(crate) fn on_behalf(&self) -> OnBehalf {
        OnBehalf::of(self.visitor.caller(self.address), self.id, self.trace)
    }

    /// An answer with `value` as its body.
    pub(crate) fn answer<T: Serialize>(&self, status: StatusCode, value: &T) -> Response {
        json::answer_in(&self.local_time, status, value)
    }

    /// An answer with the id of the request before the members of `message`.
    pub(crate) fn id_first<T: Serialize>(&self, status: StatusCode, message: T) -> Response {
        let request_id = self.id;
        let value = IdFirst {
            request_id,
            message,
        };
        self.answer(status, &value)
    }

    /// An answer with the id of the request after the members of `message`.
    pub(crate) fn id_last<T: Serialize>(&self, message: T) -> Response {
        let request_id = self.id;
        let value = IdLast {
            message,
            request_id,
        };
        self.answer(StatusCode::OK, &value)
    }
}
