//! Saying why nothing happens while a call waits for a run.

use std::time::Duration;

use cts_api_client::ApiClient;
use cts_proto::run::v1::GetQueueResponse;
use tokio::time::sleep;

use super::session::Session;

/// Between two polls.
const LOOK: Duration = Duration::from_secs(2);

impl Session<'_> {
    /// Makes a call that waits for a run of a task. Until the answer comes, reports, once for each reason,
    /// why no worker takes the run.
    pub(super) async fn say_what_is_waited_for<T>(
        &mut self,
        client: &ApiClient,
        name: &str,
        call: impl Future<Output = T>,
    ) -> T {
        let mut call = std::pin::pin!(call);
        let mut said = None;
        loop {
            let look = async {
                sleep(LOOK).await;
                client.queue().await
            };
            let queue = tokio::select! {
                biased;
                answer = &mut call => return answer,
                queue = look => queue,
            };
            // Other programs with this API do not report a reason, and other problems appear in the answer.
            let reason = queue.ok().and_then(|queue| reason(queue, name));
            if reason.is_some() && reason != said {
                let text = reason.as_deref().unwrap_or_default();
                self.ui.warning(&format!("waiting for a worker: {text}"));
                said = reason;
            }
        }
    }
}

/// Why no worker takes the run of a task: its own reason, or the reason that all waiting runs share.
fn reason(queue: GetQueueResponse, name: &str) -> Option<String> {
    let mut waiting = queue.waiting;
    let own = waiting.iter().position(|runs| runs.task_name == name);
    if let Some(own) = own {
        return Some(waiting.swap_remove(own).reason);
    }
    let first = waiting.pop()?;
    let same = waiting.iter().all(|runs| runs.reason == first.reason);
    same.then_some(first.reason)
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::WaitingRuns;

    use super::*;

    fn queue(waiting: &[(&str, &str)]) -> GetQueueResponse {
        let waiting = waiting.iter().map(|(reason, task)| WaitingRuns {
            reason: (*reason).to_owned(),
            task_name: (*task).to_owned(),
            ..WaitingRuns::default()
        });
        GetQueueResponse {
            waiting: waiting.collect(),
            ..GetQueueResponse::default()
        }
    }

    #[test]
    fn a_reason_is_that_of_the_task_or_of_all() {
        let found = |waiting: &[(&str, &str)]| reason(queue(waiting), "mine");
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("no worker", "other")]).unwrap(), "no worker");
        assert_eq!(
            found(&[("old", "other"), ("busy", "mine")]).unwrap(),
            "busy"
        );
        assert_eq!(found(&[("old", "other"), ("busy", "another")]), None);
    }
}
