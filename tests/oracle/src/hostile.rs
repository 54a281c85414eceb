//! Properties of any input, on generated and damaged documents: the targets of `fuzz/` check the same
//! properties, but here in every test run and with the same documents each time.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use chrono::DateTime;
use cts_config::{LoadContext, check};
use tempfile::TempDir;

use crate::chance::Chance;
use crate::{document, forms, mutate};

const SEED: u64 = 11;

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = forms().unwrap();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let seed = fs::read(path).unwrap();
        // As often as all the small ones together.
        seeds.extend(std::iter::repeat_n(seed, 60));
    }
    seeds
}

#[test]
fn any_document_is_read_or_refused_with_a_place_in_it() {
    let forms = seeds();
    for index in 0..20_000 {
        let mut chance = Chance::of_document(SEED, index);
        let document = document(&forms, &mut chance);
        if let Err(error) = cts_hcl1::parse(&document) {
            let span = error.span();
            assert!(span.start <= span.end && span.end <= document.len());
            if let Ok(text) = std::str::from_utf8(&document) {
                assert!(text.get(span).is_some(), "document {index}: cut character");
            }
        }
    }
}

#[test]
fn any_configuration_is_checked_to_the_end_and_its_problems_can_be_shown() {
    let seeds = seeds();
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("m")).unwrap();
    fs::write(directory.path().join("m/main.tf"), "").unwrap();
    fs::write(directory.path().join("v.tfvars"), "a = 1\n").unwrap();
    let environment = BTreeMap::new();
    let context = LoadContext {
        environment: &environment,
        current_dir: directory.path(),
        hostname: "host",
        now: DateTime::UNIX_EPOCH,
    };
    for index in 0..2_000 {
        let mut chance = Chance::of_document(SEED, index);
        let other = document(&seeds, &mut chance);
        let mut document = seeds[chance.below(seeds.len())].clone();
        mutate::mutate(&mut document, &other, &mut chance);
        for name in ["a.hcl", "a.json"] {
            fs::write(directory.path().join(name), &document).unwrap();
            let report = check(&[PathBuf::from(name)], &context);
            for problem in report.problems() {
                assert!(problem.line() != Some(0) && !problem.message().is_empty());
            }
            assert!(report.is_empty() || !report.render().is_empty());
        }
    }
}
