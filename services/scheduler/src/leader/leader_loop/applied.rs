//! Reads the inputs that tasks with unreadable keys applied last: the keys keep their values.

use std::collections::HashMap;

use cts_core::{AppliedKeys, Chain, Content, Digest, ThawError, UnreadableKeys, keys_text};
use cts_store::StoreError;

use super::LeaderLoop;
use crate::planner::{AppliedInput, NewlyHeld, WantedInput};

/// Tasks whose applied inputs are found by one statement.
const READ_AT_ONCE: usize = 1000;

/// An applied input cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("the input that was applied last cannot be read")]
    Thaw(#[from] ThawError),
    #[error("the input that was applied last is not stored any more")]
    Gone,
}

impl LeaderLoop {
    /// Passes the planner the inputs that these tasks applied last. After a failure the next call reads the
    /// rest.
    pub(super) async fn note_applied(
        &mut self,
        wanted: Vec<WantedInput>,
    ) -> Result<(), StoreError> {
        for part in wanted.chunks(READ_AT_ONCE) {
            let names: Vec<_> = part.iter().map(|wanted| wanted.task.clone()).collect();
            let inputs = self.context.store.applied_inputs(&names).await?;
            let inputs: HashMap<_, _> = inputs.into_iter().collect();
            for WantedInput { task, known } in part {
                let input = inputs.get(task).copied();
                if input.is_some() && input == *known {
                    continue;
                }
                let (applied, unusable) = match input {
                    None => (AppliedInput::Never, None),
                    Some(input) => match self.applied_keys(input).await? {
                        Ok(keys) => (AppliedInput::Of(input, keys), None),
                        Err(unusable) => (AppliedInput::Never, Some(unusable)),
                    },
                };
                let now = self.started.elapsed();
                let news = self.planner.note_applied(task, applied, now);
                if let (NewlyHeld::Waits(_), Some(unusable)) = (&news, unusable) {
                    tracing::error!(target: "ctrl", task_name = %task, error = %Chain(&unusable), "the input that the task applied last cannot be used, so the task waits");
                }
                warn(task.as_str(), &news);
            }
        }
        Ok(())
    }

    async fn applied_keys(
        &self,
        input: Digest,
    ) -> Result<Result<AppliedKeys, Unusable>, StoreError> {
        Ok(match self.context.store.input(input).await? {
            None => Err(Unusable::Gone),
            Some(hashes) => {
                let contents = self.context.store.contents(&hashes).await?;
                keys_in(&hashes, &contents)
            }
        })
    }
}

fn keys_in(hashes: &[Digest], contents: &[Content]) -> Result<AppliedKeys, Unusable> {
    let known: HashMap<Digest, &[u8]> = contents
        .iter()
        .map(|content| (content.hash, content.bytes.as_slice()))
        .collect();
    let bytes = hashes.iter().map(|hash| known.get(hash).copied());
    let bytes: Option<Vec<&[u8]>> = bytes.collect();
    Ok(AppliedKeys::of_contents(bytes.ok_or(Unusable::Gone)?)?)
}

/// Logs one line for each view, for any number of keys.
fn warn(task: &str, news: &NewlyHeld) {
    let keys_of = |unreadable: &UnreadableKeys| {
        let keys = unreadable.keys.iter().map(|key| &**key);
        keys_text(keys)
    };
    match news {
        NewlyHeld::Nothing => {}
        NewlyHeld::Waits(views) => {
            for unreadable in views {
                tracing::warn!(target: "ctrl", task_name = %task, view.id = %unreadable.view, keys = keys_of(unreadable), "the task waits: it was never applied, and values that it needs are not text in UTF-8, or longer than 2 MiB");
            }
        }
        NewlyHeld::LeftOut(views) => {
            for unreadable in views {
                tracing::warn!(target: "ctrl", task_name = %task, view.id = %unreadable.view, keys = keys_of(unreadable), "keys are left out: their values are not text in UTF-8, or longer than 2 MiB, and what the task applied last does not have them");
            }
        }
    }
}
