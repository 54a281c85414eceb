//! Moves all rows out of a database or into it.

mod empty;
mod export;
mod import;

pub use self::empty::{NotEmpty, check_empty};
pub use self::export::export;
pub use self::import::PostgresImport;
