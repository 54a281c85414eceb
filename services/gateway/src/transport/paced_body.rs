//! Bodies of answers over HTTP/2. There a client can leave an answer waiting without leaving its connection unread: by
//! a window that the client does not open.
//!
//! A body is passed on in small parts, so that hyper holds little data. Its connection notes until when the last passed
//! part has to be taken.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http::response::Response;
use http_body::{Frame, SizeHint};

use crate::transport::pending_parts::{PendingPart, PendingParts};
use crate::transport::slow_client::SlowClientTimeout;

/// Most bytes that are handed on at once.
const PART: usize = 16 * 1024;

/// The answer with a body that is handed on in parts, which are noted in `offers`.
pub(crate) fn paced(
    answer: Response<Body>,
    offers: &Arc<PendingParts>,
    timeout: SlowClientTimeout,
) -> Response<Body> {
    answer.map(|body| {
        if body.is_end_stream() {
            return body;
        }
        Body::new(PacedBody {
            offer: offers.begin(timeout),
            body,
            rest: Bytes::new(),
        })
    })
}

#[derive(Debug)]
struct PacedBody {
    body: Body,
    /// The part of the last frame that is not sent yet.
    rest: Bytes,
    offer: PendingPart,
}

impl PacedBody {
    fn part(&mut self) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let part = self.rest.split_to(self.rest.len().min(PART));
        self.offer.made(part.len());
        Poll::Ready(Some(Ok(Frame::data(part))))
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.offer.taken();
        if !self.rest.is_empty() {
            return self.part();
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => {
                    self.rest = data;
                    self.part()
                }
                Err(frame) => Poll::Ready(Some(Ok(frame))),
            },
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let body = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower() + rest);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}
