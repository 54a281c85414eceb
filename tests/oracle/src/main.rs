//! Compares the HCL 1 reader of cts with the reference implementation, which is a Go module, on frozen documents.
//!
//! The documents and the answers of the reference are in `documents.jsonl`, so the tests need no Go. Generated
//! documents were chosen for it by the forms, errors and trees that they add to the documented forms.
//!
//! `cargo run -p cts-oracle` builds and starts the Go side itself, asks it about every document again, also about new
//! lines without an answer, and writes its answers. Differences are printed, except those that are intended
//! ([`deliberate`]); the exit code is 1 if there are any.

mod compare;
mod corpus;
mod deliberate;
#[cfg(test)]
mod frozen;
mod reference;
mod tree;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;

use self::compare::{Difference, compare};
use self::deliberate::deliberate;
use self::reference::{Answer, Reference};

/// Holds the HCL 1 reader against the reference implementation.
#[derive(Debug, Parser)]
#[command(name = "cts-oracle")]
struct Arguments {
    /// Compare this file only, and show the result of both sides.
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let executable = std::env::current_exe().context("this executable cannot be found")?;
    let directory = executable.parent().context("this executable is nowhere")?;
    let mut reference = Reference::build_and_start(directory)?;
    if let Some(path) = &arguments.file {
        let document = fs::read(path).with_context(|| path.display().to_string())?;
        let answer = reference.examine(&document)?;
        let ours = cts_hcl1::parse(&document);
        let difference = unexplained(&document, &answer);
        say(&format!(
            "reference: {answer:?}\nours: {ours:?}\nunexplained: {difference:?}"
        ));
        return Ok(ExitCode::from(u8::from(difference.is_some())));
    }
    let mut all = corpus::read()?;
    let mut differences = 0_u32;
    for frozen in &mut all {
        let answer = reference.examine(&frozen.document)?;
        if let Some(difference) = unexplained(&frozen.document, &answer) {
            differences += 1;
            say(&format!(
                "\"{}\": {difference:?}",
                frozen.document.escape_ascii()
            ));
        }
        frozen.answer = Some(answer);
    }
    corpus::write(&all)?;
    say(&format!(
        "{} documents, {differences} unexplained differences",
        all.len()
    ));
    Ok(ExitCode::from(u8::from(differences > 0)))
}

/// The difference between the two sides, unless it is an intended one.
fn unexplained(document: &[u8], answer: &Answer) -> Option<Difference> {
    let difference = compare(document, answer)?;
    deliberate(&difference, document)
        .is_none()
        .then_some(difference)
}

fn say(text: &str) {
    // There may be no reader any more.
    drop(writeln!(std::io::stdout(), "{text}"));
}
