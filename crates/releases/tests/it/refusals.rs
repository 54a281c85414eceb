//! Releases that are refused, without a file left.

use std::time::Duration;

use cts_releases::{ArchiveError, InstallLock, KeyError, ReleaseError, ReleaseKeys};
use cts_testkit::{Delivery, ReleaseKey, ReleaseSite, zip_archive, zip_archive_with_link};

use crate::stage::{ARCHIVE, CHECKSUMS, SIGNATURE, Stage};

#[tokio::test]
async fn another_archive_than_the_one_that_was_signed_is_refused() {
    let stage = Stage::new();
    stage
        .site
        .put(ARCHIVE, zip_archive(&[("terraform", b"evil")]));
    let error = stage.refused().await;
    assert!(matches!(error, ReleaseError::Checksum { .. }), "{error:?}");
}

#[tokio::test]
async fn checksums_without_a_signature_that_counts_are_refused() {
    let stage = Stage::new();
    let checksums = stage.site.content(CHECKSUMS);
    stage.site.remove(SIGNATURE);
    let error = stage.refused().await;
    assert!(
        matches!(error, ReleaseError::NoSignature { .. }),
        "{error:?}"
    );

    for signature in [
        ReleaseKey::generate().sign(&checksums),
        stage.key.sign(b"something else"),
        b"no signature".to_vec(),
        Vec::new(),
    ] {
        stage.site.put(SIGNATURE, signature);
        let error = stage.refused().await;
        assert!(matches!(error, ReleaseError::Signature { .. }), "{error:?}");
    }
    // Nothing of the archive was requested.
    assert!(!stage.site.requests().iter().any(|path| path == ARCHIVE));

    let mut edited = checksums;
    edited.push(b'\n');
    stage.site.put(SIGNATURE, stage.key.sign(&edited));
    let error = stage.refused().await;
    assert!(matches!(error, ReleaseError::Signature { .. }), "{error:?}");
}

#[tokio::test]
async fn a_release_that_is_not_there_or_not_for_this_machine_is_named() {
    let stage = Stage::new();
    let list = format!("{}  terraform_1.9.8_plan9_mips.zip\n", "00".repeat(32));
    stage.site.put(SIGNATURE, stage.key.sign(list.as_bytes()));
    stage.site.put(CHECKSUMS, list);
    let error = stage.refused().await;
    assert!(matches!(error, ReleaseError::NotListed { .. }), "{error:?}");
    stage.site.remove(CHECKSUMS);
    let error = stage.refused().await.to_string();
    assert!(
        error.ends_with("_SHA256SUMS is answered with 404 Not Found"),
        "{error}"
    );
}

#[tokio::test]
async fn a_download_that_breaks_off_stands_still_or_does_not_end_is_given_up() {
    let mut stage = Stage::new();
    stage.site.deliver(ARCHIVE, Delivery::CutAfter(100));
    let error = stage.refused().await;
    assert!(
        matches!(error, ReleaseError::Unreachable { .. }),
        "{error:?}"
    );

    stage.site.deliver(ARCHIVE, Delivery::StalledAfter(100));
    stage.limits.silence = Duration::from_millis(200);
    let error = stage.refused().await;
    assert!(
        matches!(error, ReleaseError::Unreachable { .. }),
        "{error:?}"
    );
    stage.limits.silence = Duration::from_secs(20);
    stage.limits.time = Duration::from_millis(500);
    let error = stage.refused().await;
    assert!(matches!(error, ReleaseError::TooSlow { .. }), "{error:?}");

    stage.limits.time = Duration::from_secs(30);
    for path in [ARCHIVE, CHECKSUMS] {
        stage.site.deliver(path, Delivery::Endless);
        let error = stage.refused().await;
        assert!(matches!(error, ReleaseError::TooLarge { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_site_that_cannot_be_reached_is_named() {
    let mut stage = Stage::new();
    stage.site = ReleaseSite::unreachable();
    let error = stage.refused().await;
    assert!(
        matches!(error, ReleaseError::Unreachable { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains(CHECKSUMS), "{error}");
}

#[tokio::test]
async fn archives_that_no_vendor_makes_are_refused() {
    let stage = Stage::new();
    let bomb = vec![0; 2 << 20];
    let many: Vec<String> = (0..101).map(|number| format!("file-{number}")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let whole = zip_archive(&[("terraform", b"x")]);
    for (archive, expected) in [
        (zip_archive(&[("terraform.exe", b"x")]), "has no file"),
        (zip_archive(&[]), "has no file"),
        (zip_archive(&[("bin/terraform", b"x")]), "no plain file"),
        (
            zip_archive(&[("terraform", b"x"), ("../terraform", b"y")]),
            "no plain file",
        ),
        (
            zip_archive(&[("terraform", b"x"), ("/etc/cron.d/x", b"y")]),
            "no plain file",
        ),
        (
            zip_archive_with_link("terraform", "/bin/sh"),
            "no plain file",
        ),
        (zip_archive(&[("terraform", &bomb)]), "larger than 1048576"),
        (zip_archive(&many), "has 101 files"),
        (whole[..whole.len() / 2].to_vec(), "no whole zip archive"),
        (b"no archive".to_vec(), "no whole zip archive"),
    ] {
        stage.put(&archive);
        let error = stage.refused().await;
        let ReleaseError::Archive { source, .. } = error else {
            panic!("{error:?}")
        };
        let source: ArchiveError = source;
        assert!(source.to_string().contains(expected), "{source}");
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let stage = Stage::new();
    std::fs::write(stage.path().join("file"), "").unwrap();
    let directory = stage.path().join("file/engines");
    let error = InstallLock::take(&directory, Duration::ZERO).await;
    assert!(matches!(error, Err(ReleaseError::File(_))), "{error:?}");
}

#[test]
fn files_that_are_no_keys_are_refused() {
    for file in [&b""[..], b"key", b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n"] {
        assert!(ReleaseKeys::read(file).is_err());
    }
    let signature = ReleaseKey::generate().sign_armored(b"x");
    let error = ReleaseKeys::read(signature.as_bytes()).unwrap_err();
    let expected = [
        KeyError::NoSigningKey.to_string(),
        "it is no OpenPGP public key".into(),
    ];
    assert!(expected.contains(&error.to_string()), "{error}");
}
