//! All rows of a database, for a move or after a restore.

pub mod export;
pub mod page;
pub mod restored;
pub mod schema;
