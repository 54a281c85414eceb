//! Ids in few characters.

/// Least characters of the id of a run that are shown: its time, so that a later run does not begin in the same way.
pub(crate) const RUN_ID_SHOWN: usize = 13;

/// The shortest beginning of an id that no other known id has, but at least `least` bytes. An unknown id, or an id that
/// is the beginning of another id, stays whole.
pub fn short_id<'i>(id: &'i str, known: &[impl AsRef<str>], least: usize) -> &'i str {
    let mut is_known = false;
    let mut shared = 0;
    for other in known.iter().map(AsRef::as_ref) {
        if other == id {
            is_known = true;
            continue;
        }
        let pairs = id.bytes().zip(other.bytes());
        shared = shared.max(pairs.take_while(|(one, other)| one == other).count());
    }
    let short = id.get(..least.max(shared + 1));
    short.filter(|_| is_known).unwrap_or(id)
}
