//! The HCL examples of docs/configuration.md#reference, each in a file: all are right in their syntax, those
//! with an `x` are wrong only in their meaning.

use std::path::Path;

use cts_hcl1::parse;

use crate::outline::outline;

#[test]
fn every_example_of_the_reference_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read(&path).unwrap();
        let body = parse(&source).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!body.items.is_empty(), "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 23);
}

#[test]
fn the_smallest_useful_file_has_the_expected_tree() {
    assert_eq!(
        outline(include_str!("../examples/v1.hcl")),
        r#"task{name="hello" module="./modules/hello" condition "services"{names=["web"]}}"#
    );
}

#[test]
fn values_without_commas_on_one_line_are_told_apart() {
    assert_eq!(
        outline(include_str!("../examples/v5a.hcl")),
        r#"consul{address="10.0.0.1:8500"} driver "terraform"{required_providers{fw={source="acme/fw" version="1.0"}}}"#
    );
}
