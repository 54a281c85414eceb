//! The last deletions, when nothing fails any more: the judge examines what they leave.

use tokio::time::{Instant, sleep};

use super::book::{Order, Outcome, TaskState};
use super::call::send;
use super::{Answered, Writes};
use crate::between::Between;
use crate::plan::Plan;

const BETWEEN_TRIES: std::time::Duration = std::time::Duration::from_millis(500);

impl Writes {
    /// Deletes half of the existing tasks. Some of them destroy their resources, the others keep them.
    pub(crate) async fn delete_at_last(&mut self, end: Instant) -> Result<(), String> {
        let numbers: Vec<usize> = self.book.numbers().collect();
        for task in numbers
            .into_iter()
            .filter(|task| task % 4 == 1 || task % 4 == 2)
        {
            let is_there = matches!(self.book.certain(task), Some(TaskState::Present(_)));
            if is_there && !self.book.is_of_files(task) {
                self.delete(task, end).await?;
            }
        }
        Ok(())
    }

    async fn delete(&mut self, task: usize, end: Instant) -> Result<(), String> {
        let order = Order::Delete;
        self.reborn.insert(task);
        let sent = Instant::now();
        // A repetition is confirmed, or finds that the task no longer exists.
        while send(&self.client, &self.apis[0], (task, false), &order).await == Outcome::Unknown {
            if Instant::now() > end {
                return Err(format!("{} cannot be deleted", Plan::task(task)));
            }
            sleep(BETWEEN_TRIES).await;
        }
        self.take_down(Answered {
            task,
            order,
            outcome: Outcome::Confirmed,
            written: Between(sent, Instant::now()),
            shown: Err("nothing to look at".to_owned()),
        });
        Ok(())
    }
}
