//! The files of `deploy`: units of systemd, jobs of Nomad, the configuration of the containers, names of images.
//!
//! `scripts/compose-test` and `scripts/nomad-test` run them.

mod compose;
mod images;
mod nomad;
mod tls;

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::cli::calls::{OURS, Place};

const SERVICES: [&str; 4] = ["watcher", "scheduler", "worker", "gateway"];

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn read(path: &str) -> String {
    fs::read_to_string(deploy().join(path)).unwrap()
}

#[tokio::test]
async fn systemd_understands_every_line_of_the_units() {
    let place = Place::new();
    let program = place.program(OURS);
    let program = program.to_str().unwrap();
    for (file, unit) in [
        ("cts.service", "cts.service"),
        ("cts@.service", "cts@worker.service"),
    ] {
        let text = read(&format!("systemd/{file}"));
        assert!(text.contains("ExecStart=/usr/local/bin/cts "));
        // The program must exist.
        place.write(file, &text.replace("/usr/local/bin/cts", program));
        let output = Command::new("systemd-analyze")
            .arg("verify")
            .arg(place.path().join(unit))
            .output()
            .await
            .expect("systemd-analyze, of Debian's package systemd");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.is_empty(), "{file}: {said}");
    }
}
