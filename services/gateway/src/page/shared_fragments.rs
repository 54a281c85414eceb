//! Fragments that several people see: rendered once for all requests of equal rights for an equal version.

use std::time::Duration;

use moka::future::Cache;

use super::response::Content;

/// Bytes of all kept fragments.
const SIZE: u64 = 16 << 20;

/// Time in which followers of a version come for its fragments.
const KEPT: Duration = Duration::from_secs(3);

/// Fragments by the rights of their readers and their addresses with the version.
pub(super) struct SharedFragments(Cache<String, Content>);

impl SharedFragments {
    pub(super) fn new() -> Self {
        let size = |key: &String, content: &Content| key.len() + content.size();
        let cache = Cache::builder()
            .weigher(move |key, content| u32::try_from(size(key, content)).unwrap_or(u32::MAX))
            .max_capacity(SIZE)
            .time_to_live(KEPT);
        Self(cache.build())
    }

    /// The fragment with this key. Requests that come while it is rendered wait for it; if the request that renders it
    /// is dropped, another one does. A fragment that `render` gives as an error is not kept.
    pub(super) async fn get<E: Clone + Send + Sync + 'static>(
        &self,
        key: String,
        render: impl Future<Output = Result<Content, E>>,
    ) -> Result<Content, E> {
        let got = self.0.try_get_with(key, render).await;
        got.map_err(|error| (*error).clone())
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::future::join_all;
    use tokio::sync::Notify;

    use super::super::response::HTML;
    use super::*;

    #[tokio::test]
    async fn requests_of_equal_rights_share_one_rendering() {
        let (fragments, rendered) = (SharedFragments::new(), AtomicU32::new(0));
        let render = async || {
            tokio::task::yield_now().await;
            let number = rendered.fetch_add(1, Ordering::SeqCst);
            Ok::<_, ()>(Content::new(HTML, number.to_string()))
        };
        let get = |key: &str| fragments.get(key.to_owned(), render());
        let all = join_all([get("read /ui/"), get("read /ui/"), get("admin /ui/")]).await;
        let tags: Vec<String> = all.into_iter().map(|it| it.unwrap().tag()).collect();
        assert_eq!(rendered.load(Ordering::SeqCst), 2);
        assert!(tags[0] == tags[1] && tags[0] != tags[2]);
        get("read /ui/").await.unwrap();
        assert_eq!(rendered.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_rendering_that_is_dropped_or_fails_is_made_again() {
        let (fragments, begun) = (SharedFragments::new(), Notify::new());
        let dropped = fragments.get("key".to_owned(), async {
            begun.notify_one();
            pending::<Result<Content, ()>>().await
        });
        tokio::select! {
            _rendered = dropped => panic!("rendered"),
            () = begun.notified() => {}
        }
        let failed = fragments.get("key".to_owned(), async { Err::<Content, _>(7) });
        assert_eq!(failed.await.unwrap_err(), 7);
        let content = Content::new(HTML, "content");
        let rendered = fragments.get("key".to_owned(), async { Ok::<_, ()>(content) });
        assert!(rendered.await.is_ok());
    }
}
