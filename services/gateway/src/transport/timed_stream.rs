//! A stream that fails as timed out when the peer takes too long to send the head of a request, sends no further
//! request, or reads too little of an answer.
//!
//! Hyper has a single limit for heads and idle connections, counted from the end of the request before.
//! docs/rest.md#transport has two limits: 15 s for a head that has begun, unless configured otherwise, and 60 s of idle
//! keep-alive. The stream sees when bytes arrive, and the application reports through [`Activity`] when a request is
//! being answered, where no limit holds.
//!
//! Hyper reads nothing while an answer is on its way. If the answer has no defined end, the stream instead looks for
//! the end of the peer whenever hyper has something to send.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::transport::activity::{Activity, Phase};
use crate::transport::slow_client::SlowClientTimeout;

/// Longest time from an answer to the first byte of the next request.
pub(crate) const IDLE_LIMIT: Duration = Duration::from_mins(1);

/// Most bytes that are read ahead from a peer that sends its next request before its answer has ended.
const AHEAD: usize = 1024;

#[derive(Debug)]
pub(crate) struct TimedStream<S> {
    stream: S,
    activity: Activity,
    timer: Pin<Box<Sleep>>,
    /// The phase whose limit the timer holds; `None` if it must be set again.
    armed: Option<Phase>,
    /// For a peer that takes little or nothing of the written data.
    timeout: SlowClientTimeout,
    /// Runs while it takes nothing.
    unread: Option<Pin<Box<Sleep>>>,
    /// Bytes that were read to find out whether the peer still lives, and that hyper has not got yet.
    ahead: Vec<u8>,
    /// The peer sends no more.
    closed: bool,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(stream: S, activity: Activity, timeout: SlowClientTimeout) -> Self {
        Self {
            stream,
            timer: Box::pin(sleep(activity.request_time())),
            activity,
            armed: Some(Phase::Head),
            timeout,
            unread: None,
            ahead: Vec::new(),
            closed: false,
        }
    }

    fn poll_limit(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let phase = self.activity.phase();
        let limit = match phase {
            Phase::Head => self.activity.request_time(),
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

    /// The end of an attempt to write.
    fn written(&mut self, result: &io::Result<usize>) {
        let Ok(bytes @ 1..) = result else {
            return;
        };
        self.timeout.taken(*bytes);
        // A peer that takes its answer slowly is not idle.
        if self.armed == Some(Phase::Idle) {
            self.armed = None;
        }
    }

    /// An attempt to write, which fails when the peer has taken too little for too long.
    fn limited<T>(
        &mut self,
        attempt: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if attempt.is_ready() {
            self.unread = None;
            return attempt;
        }
        let unread = self.unread.get_or_insert_with(|| {
            let end = self.timeout.wait();
            Box::pin(sleep_until(end))
        });
        ready!(unread.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> TimedStream<S> {
    /// Notices the end of a peer whose answer has none. A peer that has sent its next request already is not
    /// checked any more.
    fn look_for_peer(&mut self, cx: &mut Context<'_>) {
        let endless = self.activity.is_endless();
        if !endless || self.activity.is_framed() || self.closed || !self.ahead.is_empty() {
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
            self.activity.peer_has_closed();
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
        // A flush without anything to send is ready at once, and reveals nothing about the peer.
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
