//! Mistakes in the text of a module, which no further attempt would mend (docs/runs.md#runs-and-attempts).

use std::fs;

use cts_terraform::{CommandError, Step};

use crate::fixture::Sandbox;

/// Modules whose text Terraform cannot read.
const MISTAKES: [&str; 12] = [
    "resource \"terraform_data\" \"x\" { for_each = var.services\n input = 1 }\n",
    "resource \"terraform_data\" \"x\" {\n",
    "resource \"terraform_data\" {\n}\n",
    "resource \"terraform_data\" \"x\" {\n  input = (1\n}\n",
    "resource \"terraform_data\" \"x\" {\n  input = { a = }\n}\n",
    "resource \"terraform_data\" \"x\" {\n  input = [for x in var.services]\n}\n",
    "resource \"terraform_data\" \"x\" {\n  input = \"${var.services\"\n}\n",
    "resource \"terraform_data\" \"x\" {\n  input = \"\\q\"\n}\n",
    "resource \"terraform_data\" \"0x\" {\n}\n",
    "variable \"services\" {}\n",
    "variable \"more\" {\n  type = lst(string)\n}\n",
    "resourc \"terraform_data\" \"x\" {\n}\n",
];

/// Modules of which a part cannot be fetched; the last one has a mistake besides.
const UNREACHABLE: [&str; 4] = [
    "module \"missing\" {\n  source = \"./missing\"\n}\n",
    "module \"missing\" {\n  source = \"git::file:///nowhere/at/all\"\n}\n",
    "terraform {\n  required_providers {\n    missing = {\n      source = \"localhost/none/missing\"\n    }\n  }\n}\n",
    "module \"missing\" {\n  source = \"git::file:///nowhere/at/all\"\n}\noutput \"x\" {\n  value = local.none\n}\n",
];

const SERVICES: &str = "variable \"services\" {\n  type = any\n}\n";

/// The error of a module that cannot be initialised.
async fn refused(sandbox: &Sandbox) -> CommandError {
    let (attempt, _lines) = sandbox.attempt();
    let root = sandbox.write(Vec::new());
    let prepared = sandbox.terraform.prepare(&attempt, &root).await;
    let error = prepared.unwrap_err();
    assert_eq!(error.step, Step::Init, "{error}");
    error
}

#[tokio::test]
async fn a_text_that_cannot_be_read_is_final() {
    let mut sandbox = Sandbox::new(SERVICES).await;
    for mistake in MISTAKES {
        sandbox.edit_module(&format!("{SERVICES}{mistake}"));
        let error = refused(&sandbox).await;
        assert!(error.is_final(), "{mistake}: {error}");
    }
}

#[tokio::test]
async fn a_text_of_a_module_in_the_module_is_final() {
    let called = "module \"inner\" {\n  source = \"./inner\"\n}\n";
    let sandbox = Sandbox::new(&format!("{SERVICES}{called}")).await;
    let inner = sandbox.path().join("module/inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("main.tf"), MISTAKES[0]).unwrap();
    let error = refused(&sandbox).await;
    assert!(error.is_final(), "{error}");
}

#[tokio::test]
async fn a_part_that_cannot_be_fetched_is_not_final() {
    let mut sandbox = Sandbox::new(SERVICES).await;
    for missing in UNREACHABLE {
        sandbox.edit_module(&format!("{SERVICES}{missing}"));
        let error = refused(&sandbox).await;
        assert!(!error.is_final(), "{missing}: {error}");
    }
}
