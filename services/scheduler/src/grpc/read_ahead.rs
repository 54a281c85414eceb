//! Streams whose items are read from the store while a client takes them.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use futures::{Stream, StreamExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Reads the items of `stream` in a separate task, one item ahead of the client.
///
/// The stream of an answer is polled when the client has room for more. Without this task, a started read would wait
/// for the client and keep its database connection; a few clients that do not read would use up all connections.
pub(crate) fn read_ahead<T: Send + 'static>(
    stream: impl Stream<Item = T> + Send + 'static,
) -> ReadAhead<T> {
    made_ahead(|items| async move {
        let mut stream = pin!(stream);
        while let Ok(room) = items.reserve().await
            && let Some(item) = stream.next().await
        {
            room.send(item);
        }
    })
}

/// Makes items in a separate task, which waits while the item before is not taken.
pub(crate) fn made_ahead<T: Send + 'static, W: Future<Output = ()> + Send + 'static>(
    work: impl FnOnce(mpsc::Sender<T>) -> W,
) -> ReadAhead<T> {
    let (items, received) = mpsc::channel(1);
    let mut reader = JoinSet::new();
    reader.spawn(work(items));
    ReadAhead {
        received,
        _reader: reader,
    }
}

/// Items that are read ahead. Reading ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ReadAhead<T> {
    received: mpsc::Receiver<T>,
    _reader: JoinSet<()>,
}

impl<T> Stream for ReadAhead<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.received.poll_recv(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::stream;
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nothing_is_read_for_a_client_that_takes_nothing() {
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        let items = stream::iter(0..10).then(move |item| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move { item }
        });
        let mut ahead = read_ahead(items);
        assert_eq!(ahead.next().await, Some(0));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(reads.load(Ordering::Relaxed), 2);
        let rest: Vec<_> = ahead.collect().await;
        assert_eq!(rest, (1..10).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn reading_ends_with_the_client() {
        let held = Arc::new(());
        let holds = Arc::clone(&held);
        let silent = stream::once(async move {
            pending::<()>().await;
            drop(holds);
        });
        let ahead = read_ahead(silent);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(Arc::strong_count(&held), 2);
        drop(ahead);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
