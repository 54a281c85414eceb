//! Recently frozen inputs, so that a lease can carry its input and saves the worker a call. Only a shortcut: missing
//! inputs are read from the store.

use std::sync::Arc;
use std::time::Duration;

use cts_core::{Content, Digest, FrozenInput};
use cts_proto::run::v1 as proto;
use moka::sync::Cache;

/// Most bytes of contents that a lease carries, and so the largest content that is kept.
const CARRIED: usize = 256 * 1024;

/// Bytes of all contents kept together.
const CONTENTS: u64 = 4 * 1024 * 1024;

/// Contents of all inputs kept together, each counted for every input that has it.
const LISTED: u64 = 20_000;

/// Time for which an input or a content is kept without a lease that needs it. Runs begin soon, or they wait for
/// reasons that take longer.
const KEPT: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct RecentInputs {
    inputs: Cache<Digest, Arc<[Digest]>>,
    contents: Cache<Digest, Arc<Content>>,
}

impl Default for RecentInputs {
    fn default() -> Self {
        Self::keeping(KEPT)
    }
}

impl RecentInputs {
    /// Keeps inputs that no lease needs for `kept` after their last use.
    fn keeping(kept: Duration) -> Self {
        let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let inputs = Cache::builder().max_capacity(LISTED).time_to_idle(kept);
        let contents = Cache::builder().max_capacity(CONTENTS).time_to_idle(kept);
        Self {
            inputs: inputs
                .weigher(move |_, contents: &Arc<[Digest]>| length(contents.len()))
                .build(),
            contents: contents
                .weigher(move |_, content: &Arc<Content>| length(content.bytes.len()))
                .build(),
        }
    }

    /// Frees the memory of inputs that have been kept for long enough; otherwise that happens only when further
    /// inputs are kept.
    pub(crate) fn forget_old(&self) {
        self.inputs.run_pending_tasks();
        self.contents.run_pending_tasks();
    }

    /// Keeps an input, and forgets older inputs beyond the limits.
    pub(crate) fn keep(&self, input: &FrozenInput) {
        let contents = input.contents.iter();
        self.inputs
            .insert(input.hash, contents.map(|content| content.hash).collect());
        for content in &input.contents {
            if content.bytes.len() <= CARRIED && !self.contents.contains_key(&content.hash) {
                self.contents.insert(content.hash, Arc::clone(content));
            }
        }
    }

    /// A content, if it is still kept.
    pub(crate) fn content(&self, hash: &Digest) -> Option<Arc<Content>> {
        self.contents.get(hash)
    }

    /// The contents of the input with this hash, with their bytes where these are at hand and not too many;
    /// empty if the input is not kept any more.
    pub(crate) fn carried(&self, input: &Digest) -> Vec<proto::InputContent> {
        let mut room = CARRIED;
        let hashes = self.inputs.get(input);
        let hashes = hashes.iter().flat_map(|hashes| hashes.iter());
        let carried = hashes.map(|hash| {
            let content = self.content(hash);
            let content = content.filter(|content| content.bytes.len() <= room);
            room -= content.as_ref().map_or(0, |content| content.bytes.len());
            proto::InputContent {
                hash: hash.to_string(),
                content: content.map(|content| content.bytes.clone()),
            }
        });
        carried.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(contents: &[&Arc<Content>]) -> FrozenInput {
        FrozenInput::of_contents(contents.iter().copied().map(Arc::clone).collect())
    }

    fn content(bytes: Vec<u8>) -> Arc<Content> {
        Arc::new(Content::from_bytes(bytes))
    }

    fn lengths(carried: &[proto::InputContent]) -> Vec<Option<usize>> {
        let bytes = carried.iter().map(|content| content.content.as_deref());
        bytes.map(|bytes| bytes.map(<[u8]>::len)).collect()
    }

    #[test]
    fn a_lease_carries_what_is_small_enough_and_names_the_rest() {
        let inputs = RecentInputs::default();
        let [head, half, huge] =
            [100, CARRIED / 2, CARRIED + 1].map(|length| content(vec![7; length]));
        let other = content(vec![8; CARRIED / 2]);
        let input = input(&[&head, &huge, &half, &other]);
        assert_eq!(inputs.carried(&input.hash), []);
        inputs.keep(&input);
        let carried = inputs.carried(&input.hash);
        assert_eq!(
            lengths(&carried),
            [Some(100), None, Some(CARRIED / 2), None]
        );
        assert_eq!(carried[1].hash, huge.hash.to_string());
    }

    #[test]
    fn many_inputs_with_one_content_keep_it_once_and_old_ones_go() {
        let inputs = RecentInputs::default();
        let shared = content(vec![1; CARRIED / 2]);
        for number in 0..30_000_u32 {
            inputs.keep(&input(&[&content(number.to_be_bytes().into()), &shared]));
        }
        inputs.forget_old();
        assert!(inputs.inputs.weighted_size() <= LISTED);
        assert!(inputs.contents.weighted_size() <= CONTENTS);
        assert!(inputs.content(&shared.hash).is_some());
    }

    #[test]
    fn inputs_that_no_lease_reads_expire() {
        let inputs = RecentInputs::keeping(Duration::ZERO);
        inputs.keep(&input(&[&content(vec![7; 100])]));
        inputs.forget_old();
        let left = (inputs.inputs.entry_count(), inputs.contents.weighted_size());
        assert_eq!(left, (0, 0));
        let inputs = RecentInputs::default();
        inputs.keep(&input(&[&content(vec![7; 100])]));
        inputs.forget_old();
        assert_eq!(inputs.contents.weighted_size(), 100);
    }
}
