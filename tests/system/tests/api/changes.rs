//! Calls that create, change and delete tasks (docs/rest.md).

mod create;
mod create_failures;
mod delete;
mod disconnect;
mod kill;
mod matrix;
mod replace;
mod update;
