//! Whole command lines under each name.

mod boolean_options;
mod commands;
mod options;

use std::ffi::OsString;

use super::*;

/// Meaning of the words of a line.
fn request(invoked_as: InvokedAs, words: &[&str]) -> Request {
    read(invoked_as, words.iter().map(OsString::from).collect())
}

/// The answer that a line gets without anything being run.
fn answer(invoked_as: InvokedAs, words: &[&str]) -> Answer {
    match request(invoked_as, words) {
        Request::Answer(answer) => answer,
        other => panic!("{words:?}: {other:?}"),
    }
}

/// The command that a line runs, and the notice before it.
fn run(invoked_as: InvokedAs, words: &[&str]) -> (Command, String) {
    match request(invoked_as, words) {
        Request::Run { command, notice } => (*command, notice),
        other => panic!("{words:?}: {other:?}"),
    }
}

/// The names under which the original's lines are read.
const BOTH: [InvokedAs; 2] = [InvokedAs::Ours, InvokedAs::Original];
