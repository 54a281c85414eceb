//! Inputs that were frozen a moment ago, so that a lease can carry what it is about and saves the worker
//! a call. Only a shortcut: whatever is missing here is read from the store.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use cts_core::Digest;

/// Largest input that a lease carries, in bytes.
const LARGEST: usize = 256 * 1024;

/// Bytes of all inputs kept together.
const TOTAL: usize = 4 * 1024 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct RecentInputs(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    inputs: VecDeque<(Digest, Vec<u8>)>,
    bytes: usize,
}

impl RecentInputs {
    /// Keeps an input, and forgets the oldest ones beyond the limit.
    pub(crate) fn keep(&self, hash: Digest, bytes: &[u8]) {
        if bytes.len() > LARGEST {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += bytes.len();
        kept.inputs.push_back((hash, bytes.to_vec()));
        while kept.bytes > TOTAL
            && let Some((_hash, oldest)) = kept.inputs.pop_front()
        {
            kept.bytes -= oldest.len();
        }
    }

    /// The input with this hash, if it is still kept. It stays, for another attempt may need it.
    pub(crate) fn get(&self, hash: Digest) -> Option<Vec<u8>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut newest_first = kept.inputs.iter().rev();
        newest_first
            .find(|(known, _)| *known == hash)
            .map(|(_, bytes)| bytes.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_large_inputs_are_not_kept() {
        let inputs = RecentInputs::default();
        let hash = |n: usize| Digest::of(&n.to_be_bytes());
        for n in 0..20 {
            inputs.keep(hash(n), &vec![0; LARGEST]);
        }
        assert_eq!(inputs.get(hash(3)), None);
        assert_eq!(inputs.get(hash(4)).map(|bytes| bytes.len()), Some(LARGEST));
        inputs.keep(hash(99), &vec![0; LARGEST + 1]);
        assert_eq!(inputs.get(hash(99)), None);
    }
}
