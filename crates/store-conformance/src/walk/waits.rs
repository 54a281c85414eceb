//! The steps of runs that wait for something outside of cts.

use crate::Fixture;
use crate::model::Lost;
use cts_store::LeaseError;

use super::Walk;

/// An expired lease is the only error that may occur.
fn live<T>(answer: Result<T, LeaseError>) -> Result<T, Lost> {
    answer.map_err(|error| {
        assert!(matches!(error, LeaseError::Lost { .. }), "{error:?}");
        Lost
    })
}

impl<F: Fixture> Walk<F> {
    fn some_wait(&mut self) -> u32 {
        self.dice.one_of(&[1, 2, 3]).copied().unwrap_or(1)
    }

    pub(super) async fn suspend(&mut self) {
        let Some(lease) = self.some_lease() else {
            return;
        };
        let waiting_for = format!("a word about {}", self.trace.len());
        let wait = self.some_wait();
        self.trace.push(format!("suspend {wait} {lease:?}"));
        let expected = self.model.suspend(&lease, wait, &waiting_for);
        let answer = self
            .scene
            .store()
            .suspend(lease.run, &lease.holder, lease.epoch, wait, &waiting_for)
            .await;
        assert_eq!(live(answer).is_ok(), expected, "{}", self.story());
    }

    pub(super) async fn look_at_wait(&mut self) {
        let Some(lease) = self.some_lease() else {
            return;
        };
        let expected = self.model.wait_end(&lease);
        let answer = self
            .scene
            .store()
            .wait_end(lease.run, &lease.holder, lease.epoch)
            .await;
        assert_eq!(live(answer), expected, "{}", self.story());
    }

    pub(super) async fn resume(&mut self) {
        let Some(lease) = self.some_lease() else {
            return;
        };
        let wait = self.some_wait();
        self.trace.push(format!("resume {wait} {lease:?}"));
        let expected = self.model.resume(&lease, wait);
        let answer = self
            .scene
            .store()
            .resume(lease.run, &lease.holder, lease.epoch, wait)
            .await;
        assert_eq!(live(answer), expected, "{}", self.story());
    }
}
