//! Installations by one process or several.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use cts_core::EngineKind;
use cts_releases::{InstallLock, Release, ReleaseError};
use cts_testkit::{Delivery, ReleaseKey, engine_script, eventually, zip_archive};
use semver::Version;

use crate::stage::{ARCHIVE, CHECKSUMS, SIGNATURE, Stage, terraform};

/// Deadline for steps that take milliseconds.
const DEADLINE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_release_has_its_name_only_when_it_is_whole() {
    let stage = Stage::new();
    let lock = stage.lock().await;
    let staged = stage.releases().fetch(&terraform(), &lock).await.unwrap();
    let target = stage.path().join("terraform");
    assert!(!target.exists());
    assert_eq!(staged.install().unwrap(), target);
    assert_eq!(fs::read_to_string(&target).unwrap(), engine_script("1.9.8"));
    assert_eq!(
        target.metadata().unwrap().permissions().mode() & 0o777,
        0o755
    );
    assert_eq!(stage.left(), ["terraform"]);
    assert_eq!(stage.site.requests(), [CHECKSUMS, SIGNATURE, ARCHIVE]);
}

#[tokio::test]
async fn a_signature_is_taken_from_a_subkey_in_the_file_of_its_key_and_in_armor() {
    let stage = Stage::with_key(ReleaseKey::with_subkey());
    stage.install().await.unwrap();

    // The first requested signature is by another key, as on the site of the vendor after a change of keys.
    let checksums = stage.site.content(CHECKSUMS);
    stage
        .site
        .put(SIGNATURE, ReleaseKey::generate().sign(&checksums));
    let of_key = format!("{CHECKSUMS}.{}.sig", stage.key.short_id());
    stage.site.put(&of_key, stage.key.sign_armored(&checksums));
    stage.install().await.unwrap();
    assert!(stage.site.requests().contains(&of_key));
}

#[tokio::test]
async fn opentofu_is_found_in_the_layout_of_its_own_site() {
    let stage = Stage::new();
    let script = engine_script("1.10.6");
    let archive = zip_archive(&[("README.md", b"hello"), ("tofu", script.as_bytes())]);
    stage.site.put_opentofu("1.10.6", &archive, &stage.key);
    let lock = stage.lock().await;
    let release = Release {
        engine: EngineKind::OpenTofu,
        version: Version::new(1, 10, 6),
    };
    let staged = stage.releases().fetch(&release, &lock).await.unwrap();
    assert_eq!(staged.install().unwrap(), stage.path().join("tofu"));
}

#[tokio::test]
async fn one_process_at_a_time_installs_into_a_directory() {
    let stage = Stage::new();
    let first = stage.lock().await;
    let limit = Duration::from_millis(200);
    let second = InstallLock::take(stage.path(), limit).await;
    assert!(
        matches!(second, Err(ReleaseError::Locked { .. })),
        "{second:?}"
    );
    let waiting = InstallLock::take(stage.path(), Duration::from_secs(30));
    let (second, ()) = tokio::join!(waiting, async { drop(first) });
    second.unwrap();
}

#[tokio::test]
async fn leftovers_of_an_interrupted_installation_are_ignored_and_removed() {
    let stage = Stage::new();
    stage.site.deliver(ARCHIVE, Delivery::StalledAfter(100));
    let lock = stage.lock().await;
    let releases = stage.releases();
    let release = terraform();
    {
        let fetching = releases.fetch(&release, &lock);
        let received = eventually(DEADLINE, async || {
            let has_some = |name: &String| {
                let length = stage.path().join(name).metadata().map(|it| it.len());
                length.is_ok_and(|length| length > 0)
            };
            if stage.left().iter().any(has_some) {
                Ok(())
            } else {
                Err("nothing of the archive is there")
            }
        });
        tokio::select! {
            result = fetching => panic!("{result:?}"),
            () = received => {}
        }
    }
    assert_eq!(stage.left(), [""; 0]);
    drop(lock);

    // A killed process removes nothing.
    fs::write(stage.path().join(".cts-install-killed"), "half").unwrap();
    stage.site.deliver(ARCHIVE, Delivery::Whole);
    stage.install().await.unwrap();
    assert_eq!(stage.left(), ["terraform"]);
}
