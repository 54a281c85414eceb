//! The frozen documents against the reader, and against the whole configuration. The targets of `fuzz/` check the
//! second for more documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use chrono::DateTime;
use cts_config::{LoadContext, check};
use tempfile::TempDir;

use crate::{corpus, unexplained};

#[test]
fn every_document_is_read_as_the_reference_reads_it() {
    for frozen in corpus::read().unwrap() {
        let document = &frozen.document;
        let answer = frozen.answer.expect("`cargo run -p cts-oracle` adds it");
        let difference = unexplained(document, &answer);
        assert_eq!(difference, None, "\"{}\"", document.escape_ascii());
    }
}

#[test]
fn every_refusal_names_a_place_in_its_document() {
    for frozen in corpus::read().unwrap() {
        let document = frozen.document;
        if let Err(error) = cts_hcl1::parse(&document) {
            let span = error.span();
            assert!(span.start <= span.end && span.end <= document.len());
            if let Ok(text) = std::str::from_utf8(&document) {
                assert!(text.get(span).is_some(), "cut character: {text:?}");
            }
        }
    }
}

#[test]
fn every_document_is_checked_as_a_configuration_and_its_problems_can_be_shown() {
    let directory = TempDir::new().unwrap();
    let environment = BTreeMap::new();
    let context = LoadContext {
        environment: &environment,
        current_dir: directory.path(),
        hostname: "host",
        now: DateTime::UNIX_EPOCH,
    };
    for frozen in corpus::read().unwrap() {
        for name in ["a.hcl", "a.json"] {
            fs::write(directory.path().join(name), &frozen.document).unwrap();
            let report = check(&[PathBuf::from(name)], &context);
            for problem in report.problems() {
                assert!(problem.line() != Some(0) && !problem.message().is_empty());
            }
            assert!(report.is_empty() || !report.render().is_empty());
        }
    }
}
