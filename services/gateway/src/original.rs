//! Texts in the forms of the original: durations, times and percent-encoding as Go reads and writes them.

pub(crate) mod duration_parse;
pub(crate) mod duration_text;
pub(crate) mod percent;
pub(crate) mod time_text;
