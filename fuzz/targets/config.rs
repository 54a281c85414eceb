//! A whole configuration from any bytes, once as HCL and once as JSON: it is checked to the end and every
//! problem in it can be shown.
//!
//! The files lie in memory where the system has a directory for that. Beside them are a module and a
//! variable file, so that references to both can come true.
#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use chrono::DateTime;
use cts_config::{LoadContext, check};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    let directory = TempDir::new_in(parent).expect("a directory for the files");
    fs::create_dir(directory.path().join("m")).expect("a directory for the module");
    fs::write(directory.path().join("m/main.tf"), "").expect("a module");
    fs::write(directory.path().join("v.tfvars"), "a = 1\nb = [\"x\"]\n").expect("variables");
    directory
});

fuzz_target!(|bytes: &[u8]| {
    for name in ["a.hcl", "a.json"] {
        fs::write(DIRECTORY.path().join(name), bytes).expect("the file can be written");
        let environment = BTreeMap::new();
        let context = LoadContext {
            environment: &environment,
            current_dir: DIRECTORY.path(),
            hostname: "host",
            now: DateTime::UNIX_EPOCH,
        };
        let report = check(&[PathBuf::from(name)], &context);
        for problem in report.problems() {
            assert!(problem.line().is_none_or(|line| line > 0));
        }
        let shown = report.render();
        assert!(report.is_empty() || !shown.is_empty());
    }
});
