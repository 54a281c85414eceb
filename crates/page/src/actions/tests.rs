//! Actions against a fake API.

mod buttons;
mod decisions;
mod fake;
mod forms;
mod requests;
mod screens;
mod table;
