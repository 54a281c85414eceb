//! Forms that change something.

mod consent;
mod sent_twice;
mod takeover;
