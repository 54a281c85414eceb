//! Long payloads travel in parts well below the message limit of 4 MiB.

/// Size at which a payload is cut, in bytes.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Largest message of one task, in bytes. A task of the configuration can have settings of many megabytes, and is one
/// message: clients that read tasks accept answers of that size.
pub const TASK_BYTES: usize = 64 << 20;

/// Largest plan of a run as data, in bytes. One change of a plan is one message: clients that read plans accept answers
/// of that size.
pub const PLAN_BYTES: usize = 16 << 20;

/// Cuts `items` into batches of about [`CHUNK_BYTES`] by the size that `size_of` returns for each item; a larger item
/// makes a batch of its own. Never yields an empty batch.
pub fn chunks<T>(
    items: impl IntoIterator<Item = T>,
    size_of: impl Fn(&T) -> usize,
) -> impl Iterator<Item = Vec<T>> {
    let mut items = items.into_iter().peekable();
    std::iter::from_fn(move || {
        let first = items.next()?;
        let mut size = size_of(&first);
        let mut batch = vec![first];
        while let Some(next) = items.peek() {
            size += size_of(next);
            if size > CHUNK_BYTES {
                break;
            }
            batch.extend(items.next());
        }
        Some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_order_and_stay_small() {
        let sizes = [CHUNK_BYTES / 2, CHUNK_BYTES / 2, 1, CHUNK_BYTES * 2, 3];
        let batches: Vec<_> = chunks(sizes, |size| *size).collect();
        assert_eq!(
            batches,
            [
                vec![CHUNK_BYTES / 2, CHUNK_BYTES / 2],
                vec![1],
                vec![CHUNK_BYTES * 2],
                vec![3],
            ]
        );
        assert_eq!(chunks(Vec::<usize>::new(), |size| *size).count(), 0);
    }
}
