//! Deliveries: how the receivers of webhooks recognise repetitions (docs/runs.md#webhooks).

use crate::words::digest::Digest;
use crate::words::identity::RunId;

/// Hexadecimal digits of the input in a key: enough to distinguish all inputs of a task.
const INPUT_DIGITS: usize = 16;

/// A delivery of a task to its receivers, across all its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Number of the delivery within its task, from 1.
    pub number: u64,
    /// The first run of the delivery. No other task has this run, in any database.
    pub first_run: RunId,
}

impl Delivery {
    /// The key that all attempts at this delivery share, because they have the same input. No other delivery has it.
    pub fn key(&self, input: &str) -> String {
        let input = input.get(..INPUT_DIGITS).unwrap_or(input);
        format!("{}.{}.{input}", self.first_run, self.number)
    }
}

/// The last attempt to apply an input of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// Delivery to which the attempt belongs.
    pub delivery: Delivery,
    /// Its run.
    pub run: RunId,
    /// Its input.
    pub input: Digest,
}

impl DeliveryAttempt {
    /// Returns the attempt at `run` with `input` that follows `before`.
    ///
    /// Both belong to the same delivery, unless the input differs or the earlier run has succeeded. A forgotten
    /// earlier run counts as successful: a receiver may get a repetition with a different key, but never different
    /// content with the same key.
    pub fn next(before: Option<&Self>, run: RunId, input: Digest, before_succeeded: bool) -> Self {
        let goes_on = before
            .filter(|before| before.input == input && (before.run == run || !before_succeeded));
        let delivery = goes_on.map_or_else(
            || Delivery {
                number: before.map_or(0, |before| before.delivery.number) + 1,
                first_run: run,
            },
            |before| before.delivery,
        );
        Self {
            delivery,
            run,
            input,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn run(number: u128) -> RunId {
        RunId::from_uuid(Uuid::from_u128(number))
    }

    /// Attempts with run, input and whether the earlier run has succeeded; returns the number and first run of each.
    fn deliveries(attempts: &[(u128, &str, bool)]) -> Vec<(u64, RunId)> {
        let mut last = None;
        let numbers = attempts.iter().map(|(id, input, before_succeeded)| {
            let input = Digest::of(input.as_bytes());
            let attempt = DeliveryAttempt::next(last.as_ref(), run(*id), input, *before_succeeded);
            last = Some(attempt);
            (attempt.delivery.number, attempt.delivery.first_run)
        });
        numbers.collect()
    }

    #[test]
    fn attempts_and_retries_of_an_input_are_one_delivery() {
        let attempts = [(1, "a", false), (1, "a", false), (2, "a", false)];
        assert_eq!(deliveries(&attempts), [(1, run(1)); 3]);
    }

    #[test]
    fn another_input_is_another_delivery_even_if_it_was_there_before() {
        let attempts = [(1, "a", false), (1, "b", false), (1, "a", false)];
        assert_eq!(
            deliveries(&attempts),
            [(1, run(1)), (2, run(1)), (3, run(1))]
        );
    }

    #[test]
    fn attempt_after_a_success_is_a_new_delivery() {
        let attempts = [(1, "a", false), (2, "a", true)];
        assert_eq!(deliveries(&attempts), [(1, run(1)), (2, run(2))]);
    }

    #[test]
    fn a_key_has_run_number_and_input() {
        let delivery = Delivery {
            number: 7,
            first_run: run(1),
        };
        assert_eq!(
            delivery.key("0123456789abcdef0123"),
            "00000000-0000-0000-0000-000000000001.7.0123456789abcdef"
        );
        assert_eq!(
            delivery.key("01"),
            "00000000-0000-0000-0000-000000000001.7.01"
        );
    }
}
