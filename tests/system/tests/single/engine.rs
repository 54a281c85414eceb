//! Which Terraform runs, and how a missing one is installed. About `cts start` itself, so embedded whatever the shape
//! of the test run.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use cts_testkit::{
    ConsulAgent, Delivery, ReleaseKey, ReleaseSite, assert_contains, eventually, free_port,
    terraform_path, tofu_path, zip_archive,
};
use cts_tests::{DEADLINE, Instance, LOCAL_BACKEND, RECORDER, Site, met, task};

const VERSION: &str = "1.9.9";
const ARCHIVE: &str = "/terraform/1.9.9/terraform_1.9.9_linux_amd64.zip";

/// A site whose `cts` finds no Terraform on the `PATH`, and a release site with one.
struct Scene {
    consul: ConsulAgent,
    releases: ReleaseSite,
    site: Site,
}

impl Scene {
    async fn new(driver: &str) -> Self {
        let (consul, releases) = (ConsulAgent::start().await, ReleaseSite::start());
        let key = ReleaseKey::generate();
        releases.put_terraform(VERSION, &archive(VERSION), &key);
        let mut site = Site::new();
        site.set_environment("PATH", "/nowhere");
        site.write("modules/pool/main.tf", RECORDER);
        site.write("key.asc", &key.public());
        let driver = format!(
            "{LOCAL_BACKEND}\n  version = \"{VERSION}\"\n  releases_url = \"{}\"\n  release_keys = [\"key.asc\"]\n  {driver}",
            releases.url()
        );
        let pool = task("pool", "./modules/pool", &["web"], "");
        site.configure_driver(&consul.address(), &driver, &pool);
        Self {
            consul,
            releases,
            site,
        }
    }

    fn installed(&self) -> PathBuf {
        self.site
            .work()
            .join(format!(".engines/terraform-{VERSION}/terraform"))
    }

    /// Starts cts and sees that it applies the task.
    async fn works(&self) -> String {
        let cts = Instance::start_embedded(&self.site).await;
        self.consul
            .register_service("web", "web-1", 1, &[], &[])
            .await;
        self.site.wait_for_ids("pool", &["web-1"]).await;
        let output = cts.output();
        cts.stop().await;
        output
    }
}

/// The real Terraform, which reports `version`.
fn archive(version: &str) -> Vec<u8> {
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = version ]; then echo '{{\"terraform_version\": \"{version}\"}}'; exit; fi\nexec '{}' \"$@\"\n",
        terraform_path().display()
    );
    zip_archive(&[("LICENSE.txt", b""), ("terraform", script.as_bytes())])
}

#[tokio::test]
async fn the_configured_version_is_installed_below_the_working_directory() {
    let scene = Scene::new("").await;
    let output = scene.works().await;
    assert_contains(
        &output,
        ["install terraform", "successfully installed terraform"],
    );
    assert!(scene.installed().is_file());
    let requests = scene.releases.requests().len();
    // Write access to the current directory does not decide which engine runs.
    scene.site.write("terraform", "#!/bin/sh\ntouch ran\n");
    let in_current = scene.site.path().join("terraform");
    fs::set_permissions(in_current, fs::Permissions::from_mode(0o755)).unwrap();
    let output = scene.works().await;
    assert_contains(
        &output,
        [
            "skipping install, terraform already exists",
            "what is in the current directory is not run",
        ],
    );
    assert!(!scene.site.path().join("ran").exists());
    assert_eq!(scene.releases.requests().len(), requests);
}

#[tokio::test]
async fn a_configured_path_is_the_only_place_and_what_is_missing_is_installed_there() {
    let mut scene = Scene::new("path = \"bin\"").await;
    // Another Terraform on the PATH does not count.
    fs::create_dir(scene.site.path().join("other")).unwrap();
    symlink(terraform_path(), scene.site.path().join("other/terraform")).unwrap();
    let other = scene.site.path().join("other").display().to_string();
    scene.site.set_environment("PATH", other);
    scene.works().await;
    assert!(scene.site.path().join("bin/terraform").is_file());
    assert!(!scene.installed().exists());

    fs::remove_file(scene.site.path().join("bin/terraform")).unwrap();
    scene.releases.remove(ARCHIVE);
    let exit = scene.site.run_cts(free_port(), &[]).wait().await;
    exit.assert_code(16).says([
        "there is no terraform in",
        "bin, and 1.9.9 cannot be installed from http://127.0.0.1",
        "driver.terraform.releases_url",
        "is answered with 404 Not Found",
    ]);
}

#[tokio::test]
async fn terraform_on_the_path_replaces_a_version_that_cannot_be_installed() {
    let mut scene = Scene::new("").await;
    let directory = terraform_path().parent().unwrap().display().to_string();
    scene.site.set_environment("PATH", directory);
    scene.releases.remove(ARCHIVE);
    let output = scene.works().await;
    assert_contains(
        &output,
        [
            "cannot install the configured version, using the one on the PATH",
            "this is not the version of Terraform that driver.version names",
        ],
    );
}

#[tokio::test]
async fn a_process_that_is_killed_in_the_middle_of_a_download_leaves_nothing_that_counts() {
    let scene = Scene::new("").await;
    scene.releases.deliver(ARCHIVE, Delivery::StalledAfter(100));
    let first = scene.site.run_cts(free_port(), &[]);
    eventually(DEADLINE, async || {
        let asked = scene.releases.requests();
        met(asked.iter().any(|path| path == ARCHIVE), first.output())
    })
    .await;
    // A second one waits for the first, and goes on when that is dead.
    let second = scene.site.run(
        "cts",
        &["start", "-config-file", "cts.hcl", "-once"],
        "once.log",
    );
    eventually(DEADLINE, async || {
        let output = second.output();
        met(
            output.contains("waiting for another process that installs there"),
            output,
        )
    })
    .await;
    scene.releases.deliver(ARCHIVE, Delivery::Whole);
    scene
        .consul
        .register_service("web", "web-1", 1, &[], &[])
        .await;
    assert!(!scene.installed().exists());
    first.kill().await;
    let exit = second.wait().await;
    exit.assert_code(0);
    let directory = scene.installed().parent().unwrap().to_owned();
    let names = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".cts-install.lock", "terraform"]);
}

#[tokio::test]
async fn sigterm_ends_a_download() {
    let scene = Scene::new("").await;
    scene.releases.deliver(ARCHIVE, Delivery::StalledAfter(100));
    let cts = scene.site.run_cts(free_port(), &[]);
    eventually(DEADLINE, async || {
        let asked = scene.releases.requests();
        let found = asked.iter().any(|path| path == ARCHIVE);
        met(found, cts.output())
    })
    .await;
    let exit = cts.terminate().await;
    exit.assert_code(0);
    assert!(!scene.installed().exists());
}

#[tokio::test]
async fn a_release_that_does_not_run_here_is_not_installed() {
    let scene = Scene::new("").await;
    let key = ReleaseKey::generate();
    scene.site.write("key.asc", &key.public());
    let foreign = b"\x7fELF made for another machine";
    for (archive, text) in [
        (zip_archive(&[("terraform", foreign)]), "does not run here"),
        (archive("1.9.10"), "the site has 1.9.10 as this version"),
    ] {
        scene.releases.put_terraform(VERSION, &archive, &key);
        let exit = scene.site.run_cts(free_port(), &[]).wait().await;
        exit.assert_code(16).says([text]);
        assert!(!scene.installed().exists());
    }
}

#[tokio::test]
async fn opentofu_is_chosen_by_a_key_and_newer_versions_are_used() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let pool = task("pool", "./modules/pool", &["web"], "");
    let driver = format!("{LOCAL_BACKEND}\n  engine = \"opentofu\"\n  path = \"bin\"");
    site.configure_driver(&consul.address(), &driver, &pool);
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = version ]; then echo '{{\"terraform_version\": \"99.0.0\"}}'; exit; fi\nexec '{}' \"$@\"\n",
        tofu_path().display()
    );
    site.write("bin/tofu", &script);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(site.path().join("bin/tofu"), executable).unwrap();
    let cts = Instance::start_embedded(&site).await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    // A run of the task has requested OpenTofu, and the worker has nothing else.
    site.wait_for_ids("pool", &["web-1"]).await;
    let written = fs::read_to_string(site.work().join("pool/main.tf")).unwrap();
    assert_contains(&written, ["required_version = \">= 1.6.0\""]);
    let output = cts.output();
    assert_contains(&output, ["cts is not tested with this version of OpenTofu"]);
    cts.stop().await;
}
