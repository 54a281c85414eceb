//! The state of a followed query, as the answers to its follower and to requested reads change it.

use std::time::Duration;

use parking_lot::Mutex;

use crate::client::Answer;
use crate::error::ConsulError;
use crate::follow::poll_event::PollEvent;
use crate::follow::read_requests::ReadRequests;

/// The state of a followed query. Several requests for the query may be under way.
pub(crate) struct FollowedQuery<F> {
    pub(crate) requests: ReadRequests,
    state: Mutex<State<F>>,
}

struct State<F> {
    /// Index of the newest answer, 0 if no answer counts.
    index: u64,
    /// Digest of the newest answer that was passed on: any query may be cut, and the read after the cut is compared
    /// with that answer.
    digest: u64,
    /// Number of the newest requested read that an answer stands for.
    read: u64,
    on_event: F,
}

/// A request to Consul that begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    /// The index that was known.
    pub(crate) index: u64,
    /// Number of the newest read that was requested before.
    number: u64,
}

impl<F: FnMut(PollEvent)> FollowedQuery<F> {
    pub(crate) fn new(requests: ReadRequests, on_event: F) -> Self {
        Self {
            requests,
            state: Mutex::new(State {
                index: 0,
                digest: 0,
                read: 0,
                on_event,
            }),
        }
    }

    /// A request to Consul begins now.
    pub(crate) fn begin(&self) -> Begun {
        Begun {
            index: self.state.lock().index,
            number: self.requests.last(),
        }
    }

    /// A requested read begins now.
    pub(crate) fn begin_requested(&self) -> Begun {
        let begun = self.begin();
        self.requests.note_begun(begun.number);
        begun
    }

    /// Number of the newest requested read that an answer stands for.
    pub(crate) fn read(&self) -> u64 {
        self.state.lock().read
    }

    /// Takes an answer. `is_whole` is false if Consul had a reason to hold it back.
    pub(crate) fn answered(&self, answer: Answer, begun: Begun, is_whole: bool) {
        let mut state = self.state.lock();
        match answer.index {
            // Consul was restored or replaced; the next answer is complete.
            Some(at) if at < begun.index && !is_whole => {
                state.index = 0;
                return;
            }
            Some(at) if at == begun.index => {}
            // Another request was answered in the meantime, with newer data.
            Some(at) if state.index != begun.index && at <= state.index => {}
            at => {
                state.index = at.unwrap_or(0);
                state.digest = answer.digest();
                let event = PollEvent::Snapshot {
                    index: state.index,
                    filtered: answer.filtered,
                    items: answer.items,
                    unreadable: answer.unreadable,
                };
                (state.on_event)(event);
            }
        }
        if begun.number > state.read {
            state.read = begun.number;
            self.requests.note_begun(begun.number);
            (state.on_event)(PollEvent::Read {
                number: begun.number,
            });
        }
    }

    /// Whether the answer to a read equals the known data.
    pub(crate) fn is_known(&self, answer: &Answer) -> bool {
        let state = self.state.lock();
        state.index > 0 && answer.index == Some(state.index) && answer.digest() == state.digest
    }

    /// Makes the next answer count, whatever its index is.
    pub(crate) fn forget(&self) {
        self.state.lock().index = 0;
    }

    /// Consul did not answer the query.
    pub(crate) fn failed(
        &self,
        error: ConsulError,
        failures: u32,
        (failing_for, retry_after): (Duration, Duration),
    ) {
        let mut state = self.state.lock();
        state.index = 0;
        (state.on_event)(PollEvent::Failure {
            error,
            failures,
            failing_for,
            retry_after,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(index: u64) -> Answer {
        Answer {
            index: Some(index),
            filtered: false,
            items: Vec::new(),
            unreadable: Vec::new(),
            body: index.to_string().into(),
        }
    }

    /// The indexes of snapshots, and the numbers of reads, in their order.
    fn told(steps: impl FnOnce(&FollowedQuery<&mut dyn FnMut(PollEvent)>)) -> Vec<String> {
        let mut told = Vec::new();
        let mut note = |event| {
            told.push(match event {
                PollEvent::Snapshot { index, .. } => format!("snapshot {index}"),
                PollEvent::Read { number } => format!("read {number}"),
                PollEvent::Failure { .. } => "failure".to_owned(),
            });
        };
        let note: &mut dyn FnMut(PollEvent) = &mut note;
        steps(&FollowedQuery::new(ReadRequests::default(), note));
        told
    }

    #[test]
    fn an_answer_stands_for_the_reads_that_were_requested_before_its_request_began() {
        let told = told(|followed| {
            followed.answered(answer(5), followed.begin(), true);
            let held = followed.begin();
            assert_eq!(followed.requests.request(false), 1);
            let read = followed.begin_requested();
            // The held query began too early.
            followed.answered(answer(6), held, false);
            assert_eq!(followed.read(), 0);
            followed.answered(answer(6), read, true);
            followed.requests.request(false);
            // So does a held query that began later.
            followed.answered(answer(7), followed.begin(), false);
        });
        assert_eq!(
            told,
            ["snapshot 5", "snapshot 6", "read 1", "snapshot 7", "read 2"]
        );
    }

    #[test]
    fn newer_answer_of_two_parallel_requests_stays() {
        let told = told(|followed| {
            followed.answered(answer(5), followed.begin(), true);
            let (held, read) = (followed.begin(), followed.begin());
            followed.answered(answer(8), read, true);
            followed.answered(answer(7), held, false);
            let (held, read) = (followed.begin(), followed.begin());
            followed.answered(answer(9), held, false);
            followed.answered(answer(8), read, true);
            // Consul was replaced.
            followed.answered(answer(3), followed.begin(), false);
            followed.answered(answer(3), followed.begin(), true);
        });
        let expected = ["snapshot 5", "snapshot 8", "snapshot 9", "snapshot 3"];
        assert_eq!(told, expected);
    }
    #[test]
    fn after_a_cut_an_answer_is_known_by_its_index_and_its_body() {
        let told = told(|followed| {
            assert!(!followed.is_known(&answer(5)), "nothing is known");
            followed.answered(answer(5), followed.begin(), true);
            assert!(followed.is_known(&answer(5)));
            for other in [4, 6] {
                assert!(!followed.is_known(&answer(other)));
            }
            let other = Answer {
                body: b"7".to_vec(),
                ..answer(5)
            };
            assert!(!followed.is_known(&other));
            followed.forget();
            followed.answered(other, followed.begin(), true);
        });
        assert_eq!(told, ["snapshot 5", "snapshot 5"]);
    }
}
