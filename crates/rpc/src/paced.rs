//! Keeps the newest result of a costly question, so that any number of callers causes a bounded rate of questions.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, WeakShared};
use tokio::time::Instant;

/// Questions take at most one part in `SHARE` of the time, except that the pause after a question is at most
/// [`LONGEST`].
const SHARE: u32 = 4;

/// Longest pause after a slow question.
const LONGEST: Duration = Duration::from_secs(1);

/// The newest result of a question, kept for a pause.
pub struct Paced<T: Clone, E: Clone> {
    state: Arc<Mutex<State<T, E>>>,
    pause: Duration,
}

struct State<T: Clone, E: Clone> {
    newest: Option<Newest<T>>,
    /// The newest question. If a caller is dropped, the question continues for the other callers. A question
    /// without callers is dropped, because nobody polls the question, and the question may hold a connection.
    asked: Option<WeakShared<BoxFuture<'static, Result<T, E>>>>,
}

struct Newest<T> {
    result: T,
    /// Until when it answers callers.
    until: Instant,
}

impl<T: Clone, E: Clone> fmt::Debug for Paced<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paced")
            .field("pause", &self.pause)
            .finish_non_exhaustive()
    }
}

impl<T, E> Paced<T, E>
where
    T: Clone + Send + Sync + 'static,
    E: Clone + Send + Sync + 'static,
{
    /// A result answers callers for `pause` after its question began, and longer after a slow question.
    pub fn new(pause: Duration) -> Self {
        let state = State {
            newest: None,
            asked: None,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            pause,
        }
    }

    /// Returns the newest result, or the result of the question in progress, or of a new question. An error reaches all
    /// waiting callers, and is not kept.
    pub async fn get<Asking>(&self, ask: impl FnOnce() -> Asking) -> Result<T, E>
    where
        Asking: Future<Output = Result<T, E>> + Send + 'static,
    {
        let asked = {
            let mut state = self.state.lock();
            if let Some(newest) = &state.newest
                && Instant::now() < newest.until
            {
                return Ok(newest.result.clone());
            }
            let asked = state.asked.as_ref().and_then(WeakShared::upgrade);
            if let Some(asked) = asked.filter(|asked| asked.peek().is_none()) {
                asked
            } else {
                let asked = self.question(ask()).boxed().shared();
                state.asked = asked.downgrade();
                asked
            }
        };
        asked.await
    }

    fn question<Asking>(
        &self,
        asking: Asking,
    ) -> impl Future<Output = Result<T, E>> + Send + use<Asking, T, E>
    where
        Asking: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (state, pause) = (Arc::clone(&self.state), self.pause);
        async move {
            let begun = Instant::now();
            let result = asking.await?;
            let took = begun.elapsed();
            let rest = LONGEST.min(took * (SHARE - 1));
            state.lock().newest = Some(Newest {
                result: result.clone(),
                until: begun + pause.max(took + rest),
            });
            Ok(result)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::future::join_all;
    use tokio::time::{advance, sleep};

    use super::*;

    const PAUSE: Duration = Duration::from_millis(100);

    struct Scene {
        paced: Paced<u32, &'static str>,
        asked: Arc<AtomicU32>,
    }

    impl Scene {
        fn new() -> Self {
            Self {
                paced: Paced::new(PAUSE),
                asked: Arc::default(),
            }
        }

        async fn get(&self, took: Duration, fails: bool) -> Result<u32, &'static str> {
            let asked = Arc::clone(&self.asked);
            let ask = || async move {
                let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
                sleep(took).await;
                if fails { Err("broken") } else { Ok(number) }
            };
            self.paced.get(ask).await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn any_number_of_callers_asks_once_in_each_pause() {
        let scene = Scene::new();
        let took = Duration::from_millis(5);
        let both = join_all((0..10).map(|_| scene.get(took, false))).await;
        assert!(both.iter().all(|got| *got == Ok(1)), "{both:?}");
        assert_eq!(scene.get(took, false).await, Ok(1));
        advance(PAUSE).await;
        assert_eq!(scene.get(took, false).await, Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_question_is_asked_more_seldom() {
        let scene = Scene::new();
        let took = PAUSE * 2;
        assert_eq!(scene.get(took, false).await, Ok(1));
        advance(took * 2).await;
        assert_eq!(scene.get(took, false).await, Ok(1));
        advance(took).await;
        assert_eq!(scene.get(took, false).await, Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_of_nobody_holds_nothing() {
        let paced: Paced<u32, &str> = Paced::new(PAUSE);
        let held = Arc::new(());
        let holds = Arc::clone(&held);
        let ask = || async move {
            sleep(PAUSE).await;
            drop(holds);
            Ok(1)
        };
        let mut first = Box::pin(paced.get(ask));
        assert_eq!(futures::poll!(&mut first), std::task::Poll::Pending);
        assert_eq!(Arc::strong_count(&held), 2);
        drop(first);
        assert_eq!(Arc::strong_count(&held), 1);
        assert_eq!(paced.get(|| async { Ok(2) }).await, Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_reaches_all_who_wait_and_is_not_kept() {
        let scene = Scene::new();
        let took = Duration::from_millis(5);
        let all = join_all((0..10).map(|_| scene.get(took, true))).await;
        assert!(all.iter().all(|got| *got == Err("broken")), "{all:?}");
        assert_eq!(scene.asked.load(Ordering::SeqCst), 1);
        assert_eq!(scene.get(took, false).await, Ok(2));
    }
}
