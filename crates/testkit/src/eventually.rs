//! Waiting for a condition, never for a time.

use std::fmt::Display;
use std::panic::Location;
use std::time::Duration;

use tokio::time::{sleep, timeout};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Calls `probe` until it gives a value, and returns that. Panics when `deadline` is over, with the
/// caller's place and the probe's last complaint. A probe that hangs is cut off too.
#[track_caller]
pub fn eventually<T, E: Display>(
    deadline: Duration,
    mut probe: impl AsyncFnMut() -> Result<T, E>,
) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let mut complaint = "the first try did not end".to_owned();
        let polling = async {
            loop {
                match probe().await {
                    Ok(value) => return value,
                    Err(error) => complaint = error.to_string(),
                }
                sleep(POLL_INTERVAL).await;
            }
        };
        match timeout(deadline, polling).await {
            Ok(value) => value,
            Err(elapsed) => panic!("{caller}: {elapsed} ({deadline:?}): {complaint}"),
        }
    }
}
