//! Compares the HCL 1 reader of cts with the reference implementation, which is a Go module, on the documented
//! forms of the language and on generated documents.
//!
//! Run by hand after changes of the reader: `cargo run --release -p cts-oracle`. Builds and starts the Go side
//! itself. Differences are shrunk, grouped by their cause and printed; intended ones ([`deliberate`]) are only
//! counted. The exit code is 1 if any other difference was found.

mod chance;
mod compare;
mod corpus;
mod decoded;
mod deliberate;
mod generate;
#[cfg(test)]
mod hostile;
mod mutate;
mod reference;
mod report;
mod shrink;
mod tree;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;

use self::chance::Chance;
use self::compare::{Verdict, compare, is_json};
use self::reference::Reference;
use self::report::Report;

/// Holds the HCL 1 reader against the reference implementation.
#[derive(Debug, Parser)]
#[command(name = "cts-oracle")]
struct Arguments {
    /// Number of documents to generate in addition to the documented forms.
    #[arg(long, default_value_t = 100_000)]
    documents: u64,
    /// Seed of the documents.
    #[arg(long, default_value_t = 1)]
    seed: u64,
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
        let verdict = compare(&document, &answer);
        say(&format!(
            "reference: {answer:?}\nours: {:?}\nverdict: {verdict:?}",
            cts_hcl1::parse(&document)
        ));
        let differs = matches!(verdict, Verdict::Differs(_));
        return Ok(ExitCode::from(u8::from(differs)));
    }
    say(&format!(
        "seed {}, {} documents",
        arguments.seed, arguments.documents
    ));
    let mut report = Report::default();
    let forms = forms()?;
    for form in &forms {
        examine(form, &mut reference, &mut report)?;
    }
    for index in 0..arguments.documents {
        let mut chance = Chance::of_document(arguments.seed, index);
        let document = document(&forms, &mut chance);
        examine(&document, &mut reference, &mut report)?;
    }
    say(&report.to_string());
    Ok(ExitCode::from(u8::from(!report.is_clean())))
}

/// One of the forms or a generated document; often damaged.
fn document(forms: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut document = if chance.once_in(8) {
        forms[chance.below(forms.len())].clone()
    } else {
        generate::document(chance)
    };
    if chance.once_in(3) {
        let other = if chance.once_in(2) {
            forms[chance.below(forms.len())].clone()
        } else {
            generate::document(chance)
        };
        mutate::mutate(&mut document, &other, chance);
    }
    document
}

fn examine(document: &[u8], reference: &mut Reference, report: &mut Report) -> Result<()> {
    if is_json(document) {
        report.skipped();
        return Ok(());
    }
    let verdict = compare(document, &reference.examine(document)?);
    let Verdict::Differs(difference) = verdict else {
        report.agreed(&verdict);
        return Ok(());
    };
    if !report.wants_example(&difference, document) {
        report.differed(difference, document.to_vec());
        return Ok(());
    }
    let small = shrink::shrink(document, 3000, |candidate| {
        if is_json(candidate) {
            return Ok(false);
        }
        let verdict = compare(candidate, &reference.examine(candidate)?);
        Ok(matches!(verdict, Verdict::Differs(found) if found == difference))
    })?;
    report.differed(difference, small);
    Ok(())
}

/// The documented forms and the examples of the specification.
fn forms() -> Result<Vec<Vec<u8>>> {
    let texts = corpus::FORMS.iter().map(|text| text.as_bytes().to_vec());
    let mut forms: Vec<Vec<u8>> = texts.collect();
    forms.extend(corpus::BYTES.iter().map(|bytes| bytes.to_vec()));
    let examples = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/hcl1/tests/examples"
    );
    let mut paths = Vec::new();
    for entry in fs::read_dir(examples).context("the examples of the reader's tests")? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        forms.push(fs::read(path)?);
    }
    Ok(forms)
}

fn say(text: &str) {
    // There may be no reader any more.
    drop(writeln!(std::io::stdout(), "{text}"));
}
