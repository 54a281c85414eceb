//! Texts in the forms of the original: durations, times and percent-encoding as Go writes them.

pub(crate) mod duration_text;
pub(crate) mod percent;
