use std::convert::Infallible;
use std::fs;
use std::future::{Ready, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use cts_bundle::{Bundle, BundleCache, EnsureError, Limits, Retention, UnpackedBundle};
use cts_core::Digest;
use cts_testkit::ManualClock;
use tempfile::TempDir;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::fixture::Tree;

struct Place {
    root: TempDir,
    clock: Arc<ManualClock>,
}

impl Place {
    fn new() -> Self {
        Self {
            root: TempDir::new().unwrap(),
            clock: Arc::default(),
        }
    }

    /// The cache as a newly started process finds it.
    fn cache(&self) -> BundleCache {
        let directory = self.root.path().join(".bundles");
        BundleCache::new(directory, Limits::default(), Arc::clone(&self.clock) as _)
    }

    fn entries(&self) -> usize {
        fs::read_dir(self.root.path().join(".bundles"))
            .unwrap()
            .count()
    }
}

fn bundle(text: &str) -> Bundle {
    Tree::new(&[("module/main.tf", text)]).pack("module")
}

fn give(bytes: &[u8]) -> Ready<Result<Vec<u8>, Infallible>> {
    ready(Ok(bytes.to_vec()))
}

async fn nothing() -> Result<Vec<u8>, io::Error> {
    Err(io::Error::other("nobody has it"))
}

fn main_tf(unpacked: &UnpackedBundle) -> String {
    fs::read_to_string(unpacked.path().join("main.tf")).unwrap()
}

const FORGET_ALL: Retention = Retention {
    most_recent: 0,
    unused_for: Duration::ZERO,
};

#[tokio::test]
async fn a_bundle_is_fetched_once_and_then_found() {
    let (place, bundle) = (Place::new(), bundle("# one\n"));
    let cache = place.cache();
    let first = cache
        .ensure(bundle.hash, || give(&bundle.bytes))
        .await
        .unwrap();
    assert_eq!(main_tf(&first), "# one\n");
    assert!(first.path().ends_with(bundle.hash.to_string()));
    let again = cache.ensure(bundle.hash, nothing).await.unwrap();
    assert_eq!(again.path(), first.path());
    let restarted = place.cache().ensure(bundle.hash, nothing).await.unwrap();
    assert_eq!(restarted.path(), first.path());
}

#[tokio::test]
async fn a_bundle_can_be_had_from_any_thread() {
    let (place, bundle) = (Place::new(), bundle("# one\n"));
    let cache = Arc::new(place.cache());
    let mut calls = JoinSet::new();
    for _ in 0..4 {
        let (cache, bundle) = (Arc::clone(&cache), bundle.clone());
        calls.spawn(async move {
            let fetch = || give(&bundle.bytes);
            cache.ensure(bundle.hash, fetch).await.unwrap()
        });
    }
    for unpacked in calls.join_all().await {
        assert_eq!(main_tf(&unpacked), "# one\n");
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_the_next_one_alone() {
    let (place, bundle) = (Place::new(), bundle("# one\n"));
    let cache = place.cache();
    let fetch = || give(&bundle.bytes);
    // The future is dropped at every point where it can wait, until it completes.
    for polls in 1.. {
        let mut call = Box::pin(cache.ensure(bundle.hash, fetch));
        let mut left = polls;
        let ended = std::future::poll_fn(|context| {
            left -= 1;
            match call.as_mut().poll(context) {
                Poll::Pending if left == 0 => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
            }
        });
        if let Some(ended) = ended.await {
            assert_eq!(main_tf(&ended.unwrap()), "# one\n");
            break;
        }
    }
    assert_eq!(
        cache.forget_unused(FORGET_ALL).await.unwrap(),
        [bundle.hash]
    );
    let again = cache.ensure(bundle.hash, fetch).await.unwrap();
    assert_eq!(main_tf(&again), "# one\n");
}

#[tokio::test]
async fn calls_at_the_same_time_fetch_once() {
    let (place, bundle) = (Place::new(), bundle("# one\n"));
    let cache = place.cache();
    let fetches = AtomicUsize::new(0);
    let together = Barrier::new(8);
    let calls = (0..8).map(|_| async {
        together.wait().await;
        let fetch = || async {
            fetches.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            give(&bundle.bytes).await
        };
        main_tf(&cache.ensure(bundle.hash, fetch).await.unwrap())
    });
    let texts = futures::future::join_all(calls).await;
    assert_eq!(texts, vec!["# one\n"; 8]);
    assert_eq!(fetches.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn two_processes_get_the_same_bundle() {
    let (place, bundle) = (Place::new(), bundle("# one\n"));
    let caches = [place.cache(), place.cache()];
    let together = Barrier::new(2);
    let calls = caches.iter().map(|cache| async {
        let fetch = || async {
            together.wait().await;
            give(&bundle.bytes).await
        };
        main_tf(&cache.ensure(bundle.hash, fetch).await.unwrap())
    });
    let texts = futures::future::join_all(calls).await;
    assert_eq!(texts, ["# one\n"; 2]);
    assert_eq!(place.entries(), 1);
}

#[tokio::test]
async fn a_failed_fetch_is_the_failure_of_that_call_only() {
    let (place, bundle) = (Place::new(), bundle("# one\n"));
    let cache = place.cache();
    let error = cache.ensure(bundle.hash, nothing).await.unwrap_err();
    assert!(matches!(error, EnsureError::Fetch { hash, .. } if hash == bundle.hash));
    let unpacked = cache.ensure(bundle.hash, || give(&bundle.bytes)).await;
    assert_eq!(main_tf(&unpacked.unwrap()), "# one\n");
}

#[tokio::test]
async fn another_content_is_never_used() {
    let (place, wanted, other) = (Place::new(), bundle("# one\n"), bundle("# two\n"));
    let cache = place.cache();
    let error = cache
        .ensure(wanted.hash, || give(&other.bytes))
        .await
        .unwrap_err();
    assert!(
        matches!(error, EnsureError::WrongHash { hash, found } if hash == wanted.hash && found == other.hash)
    );
    assert_eq!(place.entries(), 0);
    let error = cache
        .ensure(wanted.hash, || give(b"noise"))
        .await
        .unwrap_err();
    assert!(matches!(error, EnsureError::Unpack { .. }));
    assert_eq!(place.entries(), 0);
}

#[tokio::test]
async fn fetches_damaged_or_changed_modules_again() {
    let (place, bundle) = (Place::new(), bundle("# one\n"));
    let fetch = || give(&bundle.bytes);
    let path = {
        let unpacked = place.cache().ensure(bundle.hash, fetch).await.unwrap();
        unpacked.path().to_owned()
    };
    let damages: [&dyn Fn(); 5] = [
        &|| fs::write(path.join("main.tf"), "").unwrap(),
        &|| fs::write(path.join("more.tf"), "").unwrap(),
        &|| fs::remove_file(path.join("main.tf")).unwrap(),
        &|| std::os::unix::fs::symlink("/etc", path.join("link")).unwrap(),
        &|| {
            fs::remove_dir_all(&path).unwrap();
            fs::write(&path, "a file").unwrap();
        },
    ];
    for damage in damages {
        damage();
        let unpacked = place.cache().ensure(bundle.hash, fetch).await.unwrap();
        assert_eq!(main_tf(&unpacked), "# one\n");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        assert_eq!(place.entries(), 1);
    }
}

#[tokio::test]
async fn a_bundle_that_was_removed_behind_our_back_comes_back() {
    let (place, bundle) = (Place::new(), bundle("# one\n"));
    let cache = place.cache();
    let fetch = || give(&bundle.bytes);
    let unpacked = cache.ensure(bundle.hash, fetch).await.unwrap();
    fs::remove_dir_all(unpacked.path()).unwrap();
    let error = cache.ensure(bundle.hash, fetch).await.unwrap_err();
    assert!(matches!(error, EnsureError::Cache { .. }));
    let unpacked = cache.ensure(bundle.hash, fetch).await.unwrap();
    assert_eq!(main_tf(&unpacked), "# one\n");
}

/// Three bundles, used one minute after another.
async fn three(place: &Place, cache: &BundleCache) -> [Digest; 3] {
    let bundles = ["# one\n", "# two\n", "# three\n"].map(bundle);
    for bundle in &bundles {
        place.clock.advance(Duration::from_mins(1));
        let unpacked = cache.ensure(bundle.hash, || give(&bundle.bytes)).await;
        unpacked.unwrap();
    }
    bundles.map(|bundle| bundle.hash)
}

#[tokio::test]
async fn the_most_recently_used_bundles_are_kept() {
    let place = Place::new();
    let cache = place.cache();
    let [one, two, three] = three(&place, &cache).await;
    place.clock.advance(Duration::from_mins(1));
    cache.ensure(one, nothing).await.unwrap();
    let keep_two = Retention {
        most_recent: 2,
        ..FORGET_ALL
    };
    assert_eq!(cache.forget_unused(keep_two).await.unwrap(), [two]);
    cache.ensure(one, nothing).await.unwrap();
    cache.ensure(three, nothing).await.unwrap();
    cache.ensure(two, nothing).await.unwrap_err();
}

#[tokio::test]
async fn bundles_that_were_used_lately_are_kept() {
    let place = Place::new();
    let cache = place.cache();
    let [one, two, _three] = three(&place, &cache).await;
    let keep_a_minute = Retention {
        unused_for: Duration::from_mins(1),
        ..FORGET_ALL
    };
    // Bundles of an earlier process are found on disk.
    let restarted = place.cache();
    let forgotten = restarted.forget_unused(keep_a_minute).await.unwrap();
    assert_eq!(forgotten, [one, two]);
    assert_eq!(place.entries(), 1);
}

#[tokio::test]
async fn a_bundle_in_use_is_never_forgotten() {
    let (place, bundle) = (Place::new(), bundle("# one\n"));
    let cache = place.cache();
    let first = cache.ensure(bundle.hash, || give(&bundle.bytes)).await;
    let second = cache.ensure(bundle.hash, nothing).await.unwrap();
    drop(first);
    assert!(cache.forget_unused(FORGET_ALL).await.unwrap().is_empty());
    assert_eq!(main_tf(&second), "# one\n");
    drop(second);
    assert_eq!(
        cache.forget_unused(FORGET_ALL).await.unwrap(),
        [bundle.hash]
    );
    assert_eq!(place.entries(), 0);
    cache.ensure(bundle.hash, nothing).await.unwrap_err();
}

#[tokio::test]
async fn removes_only_leftovers_of_crashes_long_ago() {
    let place = Place::new();
    let cache = place.cache();
    assert!(cache.forget_unused(FORGET_ALL).await.unwrap().is_empty());
    let directory = place.root.path().join(".bundles");
    let modified = |name: &str, time: std::time::SystemTime| {
        let path = directory.join(name);
        fs::create_dir_all(path.join("bundle")).unwrap();
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    };
    let now = std::time::SystemTime::from(cts_core::Clock::now(&*place.clock));
    modified(".staging-old", now - Duration::from_hours(2));
    modified(".staging-new", now - Duration::from_mins(2));
    modified("somebody's", now - Duration::from_hours(2));
    cache.forget_unused(FORGET_ALL).await.unwrap();
    assert!(!directory.join(".staging-old").exists());
    assert!(directory.join(".staging-new").exists());
    assert!(directory.join("somebody's").exists());
}
