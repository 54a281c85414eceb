//! A stream that fails as timed out when the peer takes too long to send the head of a request, or
//! sends no further request.
//!
//! Hyper has a single limit for both, counted from the end of the request before; spec/api.md 1 has
//! two: 15 s for a head that has begun, 60 s of idle keep-alive. The stream sees when bytes arrive and
//! the application says through [`Activity`] when a request is being answered, where no limit holds.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// From the first byte of a request, or from the start of the connection, to the end of its head.
pub(crate) const HEAD_LIMIT: Duration = Duration::from_secs(15);

/// From an answer to the first byte of the next request.
pub(crate) const IDLE_LIMIT: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Answering,
    Idle,
}

/// What a connection is at, shared by its stream and the application.
#[derive(Debug, Clone)]
pub(crate) struct Activity(Arc<AtomicU8>);

impl Activity {
    /// A connection that has just been made.
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU8::new(Phase::Head as u8)))
    }

    /// A request is complete enough to be answered.
    pub(crate) fn answering(&self) {
        self.set(Phase::Answering);
    }

    /// The answer is made; what is left is to write it.
    pub(crate) fn answered(&self) {
        self.set(Phase::Idle);
    }

    // Stream and application of a connection run in one task, so no ordering is needed.
    fn set(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }

    fn phase(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            phase if phase == Phase::Head as u8 => Phase::Head,
            phase if phase == Phase::Idle as u8 => Phase::Idle,
            _ => Phase::Answering,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct TimedStream<S> {
    stream: S,
    activity: Activity,
    timer: Pin<Box<Sleep>>,
    /// The phase whose limit the timer holds; `None` if it must be set anew.
    armed: Option<Phase>,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(stream: S, activity: Activity) -> Self {
        Self {
            stream,
            activity,
            timer: Box::pin(sleep(HEAD_LIMIT)),
            armed: Some(Phase::Head),
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
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(result) => {
                if buffer.filled().len() > before && self.activity.phase() == Phase::Idle {
                    self.activity.set(Phase::Head);
                }
                Poll::Ready(result)
            }
            Poll::Pending => self.poll_limit(cx).map(Err),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.written(&result);
        Poll::Ready(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, slices));
        self.written(&result);
        Poll::Ready(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
