//! Activity of a connection, which its stream and the application share.

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::transport::pending_parts::PendingParts;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Head,
    Answering,
    Idle,
}

/// Activity of a connection, shared by its stream and the application.
#[derive(Debug, Clone)]
pub(crate) struct Activity(Arc<State>);

#[derive(Debug)]
struct State {
    /// Longest time from the first byte of a request, or from the start of the connection, to the end of its head, and
    /// of its body.
    request_time: Duration,
    /// Number of requests that are being answered: at most one with HTTP/1.1, any number with HTTP/2.
    answering: AtomicUsize,
    /// Whether the connection is within the head of a request; otherwise it waits for a request.
    in_head: AtomicBool,
    /// When the head that came last, or comes now, has begun; not kept where requests are interwoven.
    head_began: Mutex<Instant>,
    /// Whether bytes may be something else than the beginning of a request, as with HTTP/2.
    framed: bool,
    /// Answers without an end of their own.
    endless: AtomicUsize,
    /// Cancelled when the peer is seen to send no more while there is such an answer.
    closed: CancellationToken,
    offers: Arc<PendingParts>,
}

/// A request that is being answered; dropped when the answer is made or not wanted any more.
#[derive(Debug)]
#[must_use]
pub(crate) struct Answering(Activity);

/// An answer without an end of its own.
#[derive(Debug)]
#[must_use]
pub(crate) struct Endless(Activity);

impl Activity {
    /// A new connection on which a client can only send requests.
    pub(crate) fn plain(request_time: Duration) -> Self {
        Self::new(false, request_time)
    }

    /// A new connection on which requests are interwoven with each other and with other messages. Once there has been
    /// one, only the idle limit holds.
    pub(crate) fn framed(request_time: Duration) -> Self {
        Self::new(true, request_time)
    }

    fn new(framed: bool, request_time: Duration) -> Self {
        Self(Arc::new(State {
            request_time,
            answering: AtomicUsize::new(0),
            in_head: AtomicBool::new(true),
            head_began: Mutex::new(Instant::now()),
            framed,
            endless: AtomicUsize::new(0),
            closed: CancellationToken::new(),
            offers: Arc::default(),
        }))
    }

    /// A request is complete enough to be answered.
    pub(crate) fn answering(&self) -> Answering {
        self.0.answering.fetch_add(1, Ordering::AcqRel);
        if !self.0.in_head.swap(false, Ordering::AcqRel) {
            // The request came while the previous one was being answered.
            *self.lock_head_began() = Instant::now();
        }
        Answering(self.clone())
    }

    /// An answer begins that has no end of its own.
    pub(crate) fn endless(&self) -> Endless {
        self.0.endless.fetch_add(1, Ordering::AcqRel);
        Endless(self.clone())
    }

    /// Until when the request that is being answered must be complete (docs/rest.md#transport): its body belongs
    /// to the time of its head, except where requests are interwoven.
    pub(crate) fn body_limit(&self) -> Instant {
        let began = if self.0.framed {
            Instant::now()
        } else {
            *self.lock_head_began()
        };
        began + self.0.request_time
    }

    fn lock_head_began(&self) -> MutexGuard<'_, Instant> {
        self.0.head_began.lock()
    }

    /// Longest time from the first byte of a request to the end of its head.
    pub(super) fn request_time(&self) -> Duration {
        self.0.request_time
    }

    /// Whether bytes between two requests may be something else than the beginning of a request.
    pub(super) fn is_framed(&self) -> bool {
        self.0.framed
    }

    /// Whether an answer without a defined end is on its way.
    pub(super) fn is_endless(&self) -> bool {
        self.0.endless.load(Ordering::Acquire) > 0
    }

    /// The peer sends no more.
    pub(super) fn peer_has_closed(&self) {
        self.0.closed.cancel();
    }

    /// The parts of answers that are handed on before the peer has room for them.
    pub(crate) fn offers(&self) -> &Arc<PendingParts> {
        &self.0.offers
    }

    /// Bytes have come from the peer.
    pub(super) fn received(&self) {
        if !self.0.framed && self.phase() == Phase::Idle {
            *self.lock_head_began() = Instant::now();
            self.0.in_head.store(true, Ordering::Release);
        }
    }

    pub(super) fn phase(&self) -> Phase {
        if self.0.answering.load(Ordering::Acquire) > 0 {
            Phase::Answering
        } else if self.0.in_head.load(Ordering::Acquire) {
            Phase::Head
        } else {
            Phase::Idle
        }
    }
}

impl Endless {
    /// Returns when the peer sends no more: it has gone, or wants no data beyond the present data. With HTTP/2 this
    /// never returns, because hyper reads all the time.
    pub(crate) async fn peer_closed(&self) {
        self.0.0.closed.cancelled().await;
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.0.endless.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.0.answering.fetch_sub(1, Ordering::AcqRel);
    }
}
