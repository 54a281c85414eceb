//! A stream that fails as timed out when the peer takes too long to send the head of a request, sends no further
//! request, or reads nothing of an answer.
//!
//! Hyper has a single limit for both, counted from the end of the request before; docs/rest.md#transport has
//! two: 15 s for a head that has begun, 60 s of idle keep-alive. The stream sees when bytes arrive and
//! the application says through [`Activity`] when a request is being answered, where no limit holds.
//!
//! Hyper reads nothing while an answer is on its way. Where that has no end of its own, the stream looks for the
//! end of the peer instead, whenever hyper looks whether there is something to send.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::CancellationToken;

/// From the first byte of a request, or from the start of the connection, to the end of its head, and of
/// its body.
pub(crate) const HEAD_LIMIT: Duration = Duration::from_secs(15);

/// From an answer to the first byte of the next request.
pub(crate) const IDLE_LIMIT: Duration = Duration::from_mins(1);

/// A peer that takes nothing of an answer for so long loses its connection.
pub(crate) const UNREAD_LIMIT: Duration = Duration::from_mins(1);

/// What is read ahead of a peer that asks for something else before its answer has ended.
const AHEAD: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Answering,
    Idle,
}

/// What a connection is at, shared by its stream and the application.
#[derive(Debug, Clone)]
pub(crate) struct Activity(Arc<State>);

#[derive(Debug)]
struct State {
    /// Requests that are being answered: one at most with HTTP/1.1, any number with HTTP/2.
    answering: AtomicUsize,
    /// Otherwise it waits for one.
    in_head: AtomicBool,
    /// When the head that came last, or comes now, has begun; not kept where requests are interwoven.
    head_began: Mutex<Instant>,
    /// Whether bytes are something else than the beginning of a request too, as with HTTP/2.
    framed: bool,
    /// Answers without an end of their own.
    endless: AtomicUsize,
    /// Cancelled when the peer is seen to send no more while there is such an answer.
    closed: CancellationToken,
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
    /// A connection that has just been made, on which a request is all that a client can send.
    pub(crate) fn plain() -> Self {
        Self::new(false)
    }

    /// A connection that has just been made, on which requests are interwoven with each other and with
    /// other messages. Once there has been one, only the idle limit holds.
    pub(crate) fn framed() -> Self {
        Self::new(true)
    }

    fn new(framed: bool) -> Self {
        Self(Arc::new(State {
            answering: AtomicUsize::new(0),
            in_head: AtomicBool::new(true),
            head_began: Mutex::new(Instant::now()),
            framed,
            endless: AtomicUsize::new(0),
            closed: CancellationToken::new(),
        }))
    }

    /// A request is complete enough to be answered.
    pub(crate) fn answering(&self) -> Answering {
        self.0.answering.fetch_add(1, Ordering::AcqRel);
        if !self.0.in_head.swap(false, Ordering::AcqRel) {
            // It came while the one before was being answered.
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
        began + HEAD_LIMIT
    }

    fn lock_head_began(&self) -> MutexGuard<'_, Instant> {
        self.0
            .head_began
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes have come from the peer.
    fn received(&self) {
        if !self.0.framed && self.phase() == Phase::Idle {
            *self.lock_head_began() = Instant::now();
            self.0.in_head.store(true, Ordering::Release);
        }
    }

    fn phase(&self) -> Phase {
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
    /// Ends when the peer sends no more: it has gone, or it wants no more than there is. Where requests are
    /// interwoven that never ends, because hyper reads all the time.
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

#[derive(Debug)]
pub(crate) struct TimedStream<S> {
    stream: S,
    activity: Activity,
    timer: Pin<Box<Sleep>>,
    /// The phase whose limit the timer holds; `None` if it must be set anew.
    armed: Option<Phase>,
    /// Runs while the peer takes nothing of what is to be written.
    unread: Option<Pin<Box<Sleep>>>,
    /// What was read to find out whether the peer is there, and hyper has not got yet.
    ahead: Vec<u8>,
    /// The peer sends no more.
    closed: bool,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(stream: S, activity: Activity) -> Self {
        Self {
            stream,
            activity,
            timer: Box::pin(sleep(HEAD_LIMIT)),
            armed: Some(Phase::Head),
            unread: None,
            ahead: Vec::new(),
            closed: false,
        }
    }

    fn poll_limit(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let phase = self.activity.phase();
        let limit = match phase {
            Phase::Head => HEAD_LIMIT,
            Phase::Idle => IDLE_LIMIT,
            Phase::Answering => {
                self.armed = None;
                return Poll::Pending;
            }
        };
        if self.armed != Some(phase) {
            self.timer.as_mut().reset(Instant::now() + limit);
            self.armed = Some(phase);
        }
        self.timer
            .as_mut()
            .poll(cx)
            .map(|()| io::Error::from(io::ErrorKind::TimedOut))
    }

    /// A peer that takes its answer slowly is not idle.
    fn written(&mut self, result: &io::Result<usize>) {
        if matches!(result, Ok(1..)) && self.armed == Some(Phase::Idle) {
            self.armed = None;
        }
    }

    /// An attempt to write, which fails when the peer has taken nothing for too long.
    fn limited<T>(
        &mut self,
        attempt: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if attempt.is_ready() {
            self.unread = None;
            return attempt;
        }
        let unread = self
            .unread
            .get_or_insert_with(|| Box::pin(sleep(UNREAD_LIMIT)));
        ready!(unread.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> TimedStream<S> {
    /// Notices the end of a peer whose answer has none. One that has sent its next request already is not
    /// looked at any more.
    fn look_for_peer(&mut self, cx: &mut Context<'_>) {
        let endless = self.activity.0.endless.load(Ordering::Acquire) > 0;
        if !endless || self.activity.0.framed || self.closed || !self.ahead.is_empty() {
            return;
        }
        let mut bytes = [0; AHEAD];
        let mut buffer = ReadBuf::new(&mut bytes);
        let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(cx, &mut buffer) else {
            return;
        };
        self.ahead.extend_from_slice(buffer.filled());
        if read.is_err() || self.ahead.is_empty() {
            self.closed = true;
            self.activity.0.closed.cancel();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let length = self.ahead.len().min(buffer.remaining());
            buffer.put_slice(&self.ahead[..length]);
            self.ahead.drain(..length);
            self.activity.received();
            return Poll::Ready(Ok(()));
        }
        if self.closed {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(result) => {
                if buffer.filled().len() > before {
                    self.activity.received();
                }
                Poll::Ready(result)
            }
            Poll::Pending => self.poll_limit(cx).map(Err),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write(cx, bytes);
        let result = ready!(self.limited(attempt, cx));
        self.written(&result);
        Poll::Ready(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        let result = ready!(self.limited(attempt, cx));
        self.written(&result);
        Poll::Ready(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.look_for_peer(cx);
        // A flush without anything to send is ready at once, and says nothing of the peer.
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Pending => self.limited(Poll::Pending, cx),
            Poll::Ready(flushed) => Poll::Ready(flushed),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.limited(attempt, cx)
    }
}
