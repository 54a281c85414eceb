//! A client that asks at a steady rate, whatever becomes of its questions.

use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, interval, timeout};

use crate::measures::report::Metric;
use crate::measures::sample::Sample;

/// Longest wait for an answer.
const LONGEST: Duration = Duration::from_secs(10);

/// The answers to one kind of question.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    times: Sample,
    failed: u32,
}

impl Answers {
    /// The 99th percentile, in milliseconds.
    pub(crate) fn p99(&self) -> f64 {
        self.times.percentile(99)
    }

    /// Questions that were not answered well.
    pub(crate) const fn failed(&self) -> u32 {
        self.failed
    }

    /// Figures whose names begin with `name`.
    pub(crate) fn metrics(&self, name: &str) -> impl Iterator<Item = Metric> + use<> {
        let figures = [50, 99].map(|percent| {
            let value = self.times.percentile(percent);
            Metric::new(format!("{name}_p{percent}"), value, "ms")
        });
        figures.into_iter()
    }
}

/// Asks each `period` for some time, one question after the other. Times count from the moment at which a question is
/// due, so that a late answer makes the questions after it late, too.
pub(crate) async fn ask_steadily(
    time: Duration,
    period: Duration,
    mut ask: impl AsyncFnMut() -> Result<()>,
) -> Answers {
    let mut answers = Answers::default();
    let mut due = interval(period);
    let end = Instant::now() + time;
    loop {
        let due = due.tick().await;
        if due >= end {
            return answers;
        }
        if matches!(timeout(LONGEST, ask()).await, Ok(Ok(()))) {
            answers.times.add_milliseconds(due.elapsed());
        } else {
            answers.failed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_late_answer_makes_later_questions_late() {
        let mut number = 0;
        let ask = async || {
            number += 1;
            let late = number == 2;
            sleep(Duration::from_millis(if late { 35 } else { 1 })).await;
            anyhow::ensure!(number != 5);
            Ok(())
        };
        let period = Duration::from_millis(10);
        let answers = ask_steadily(period * 6, period, ask).await;
        let milliseconds = |percent| format!("{:.0}", answers.times.percentile(percent));
        assert_eq!(
            [20, 40, 60, 80, 100].map(milliseconds),
            ["1", "1", "17", "26", "35"]
        );
        assert_eq!(answers.failed(), 1);
    }
}
