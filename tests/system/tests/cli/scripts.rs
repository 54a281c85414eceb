//! The scripts that fetch programs: what they refuse, and what they pin.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cts_testkit::assert_contains;
use regex::Regex;
use tokio::process::Command;

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts")
}

#[tokio::test]
async fn the_setup_refuses_a_mirror_without_tls() {
    for url in [
        "http://mirror.example",
        "ftp://mirror.example",
        "mirror.example",
    ] {
        let output = Command::new(scripts().join("setup"))
            .env("CTS_RELEASES_URL", url)
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{url}");
        assert_eq!(output.stdout, b"", "{url}");
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_contains(&complaint, [url, "does not begin with https://"]);
    }
}

#[tokio::test]
async fn the_setup_has_a_digest_of_each_archive_that_it_fetches() {
    let script = "source scripts/setup\n\
        for machine in amd64 arm64; do\n\
          archive_sha256 consul_${consul_to_fetch}_linux_$machine.zip; echo\n\
          archive_sha256 terraform_${terraform_to_fetch}_linux_$machine.zip; echo\n\
        done";
    let output = Command::new("bash")
        .args(["-c", script])
        .current_dir(scripts().join(".."))
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let digests = String::from_utf8(output.stdout).unwrap();
    let digests: Vec<_> = digests.lines().collect();
    assert_eq!(digests.len(), 4);
    for digest in digests {
        assert_eq!(digest.len(), 64, "{digest}");
        assert!(
            digest.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{digest}"
        );
    }
}

/// `scripts/test` names the scripts that have left no such file.
#[tokio::test]
async fn each_script_that_runs_leaves_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(scripts()).unwrap() {
        let path = entry.unwrap().path();
        let mode = path.metadata().unwrap().permissions().mode();
        if path.is_dir() || mode & 0o100 == 0 {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let output = Command::new(&path)
            .arg("--help")
            .env("CTS_TEST_SCRIPTS_RUN", directory.path())
            .env_remove("CTS_TEST_HCP_TOKEN")
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        // It has no options.
        if name != "test-hcp" {
            assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        }
        names.insert(name);
    }
    let left = fs::read_dir(directory.path()).unwrap();
    let left: BTreeSet<_> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, names);
}

#[test]
fn packages_of_python_and_npm_are_pinned_by_digests() {
    let directory = scripts().join("requirements");
    let users = ["setup", "containers.sh"];
    let users = users.map(|name| fs::read_to_string(scripts().join(name)).unwrap());
    let call = Regex::new("python_tool ([a-z_-]+) \"").unwrap();
    let users = users.concat();
    let used = call.captures_iter(&users).map(|call| call[1].to_owned());
    let used: BTreeSet<_> = used.collect();
    let mut pinned = BTreeSet::new();
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        // A package with its digests is one line for pip.
        for package in text.replace("\\\n", " ").lines() {
            assert!(
                package.contains("==") && package.contains("--hash=sha256:"),
                "{package}"
            );
        }
        pinned.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
    }
    assert_eq!(pinned, used);
    for tool in ["axe", "buf"] {
        let lock = fs::read_to_string(directory.join(tool).join("package-lock.json")).unwrap();
        let lock: serde_json::Value = serde_json::from_str(&lock).unwrap();
        for (name, package) in lock["packages"].as_object().unwrap() {
            let is_pinned = package["integrity"]
                .as_str()
                .is_some_and(|it| it.starts_with("sha512-"));
            assert!(name.is_empty() || is_pinned, "{name}");
        }
    }
}
