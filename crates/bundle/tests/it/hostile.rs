//! Archives that packing never makes.

use std::fs;

use cts_bundle::{Limits, UnpackError, unpack};
use proptest::prelude::*;
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

const LIMITS: Limits = Limits {
    max_bytes: 1000,
    max_files: 10,
};

struct Entry<'a> {
    kind: EntryType,
    path: &'a str,
    content: &'a [u8],
}

fn file(path: &str) -> Entry<'_> {
    Entry {
        kind: EntryType::Regular,
        path,
        content: b"content",
    }
}

fn directory(path: &str) -> Entry<'_> {
    Entry {
        kind: EntryType::Directory,
        path,
        content: b"",
    }
}

fn link(kind: EntryType, path: &str) -> Entry<'_> {
    Entry {
        kind,
        path,
        content: b"",
    }
}

/// The names go into the headers as they are, which `Builder::append_data` would refuse.
fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for entry in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..entry.path.len()].copy_from_slice(entry.path.as_bytes());
        header.set_entry_type(entry.kind);
        if entry.kind.is_symlink() || entry.kind.is_hard_link() {
            header.set_link_name_literal("/etc").unwrap();
        }
        header.set_mode(0o777);
        header.set_size(entry.content.len() as u64);
        header.set_cksum();
        builder.append(&header, entry.content).unwrap();
    }
    compress(&builder.into_inner().unwrap())
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// Unpacking fails and leaves no file anywhere.
fn refused(bytes: &[u8]) -> UnpackError {
    let outside = TempDir::new().unwrap();
    let target = outside.path().join("a/b");
    fs::create_dir_all(&target).unwrap();
    let error = unpack(bytes, &target.join("unpacked"), &LIMITS).unwrap_err();
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    assert_eq!(fs::read_dir(outside.path().join("a")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    error
}

#[test]
fn paths_that_leave_the_bundle_are_refused() {
    for path in [
        "/tmp/x",
        "../x",
        "../../x",
        "a/../../x",
        "a/..",
        "..",
        ".",
        "./x",
        "a//x",
        "",
    ] {
        let error = refused(&archive(&[directory("a"), file(path)]));
        assert!(matches!(error, UnpackError::Path { .. }), "{path}: {error}");
        let error = refused(&archive(&[directory(path)]));
        assert!(matches!(error, UnpackError::Path { .. }), "{path}: {error}");
    }
}

#[test]
fn long_names_are_checked_as_well() {
    let long = format!("a/{}/../../../x", "b".repeat(200));
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(long.len() as u64);
    header.set_cksum();
    builder.append(&header, long.as_bytes()).unwrap();
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(0);
    header.set_cksum();
    builder.append(&header, [].as_slice()).unwrap();
    let error = refused(&compress(&builder.into_inner().unwrap()));
    assert!(matches!(error, UnpackError::Path { .. }), "{error}");
}

#[test]
fn links_and_devices_are_refused() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::Continuous,
        EntryType::GNUSparse,
        EntryType::XGlobalHeader,
    ] {
        let error = refused(&archive(&[link(kind, "a"), file("a/passwd")]));
        let expected = matches!(
            (kind, &error),
            (EntryType::GNUSparse, UnpackError::Damaged(_)) | (_, UnpackError::Kind { .. })
        );
        assert!(expected, "{kind:?}: {error}");
    }
}

#[test]
fn duplicates_and_files_in_nothing_are_refused() {
    let cases = [
        [file("a"), file("a")],
        [directory("a"), directory("a")],
        [directory("a"), file("a")],
        [file("a"), file("a/b")],
        [file("b"), file("a")],
        [file("z/x"), directory("z")],
    ];
    for entries in cases {
        let error = refused(&archive(&entries));
        assert!(matches!(error, UnpackError::Order { .. }), "{error}");
    }
}

#[test]
fn content_beyond_the_limit_is_refused() {
    let half = [0; 501];
    let entry = |path| Entry {
        kind: EntryType::Regular,
        path,
        content: &half,
    };
    let error = refused(&archive(&[entry("a"), entry("b")]));
    assert!(
        matches!(error, UnpackError::TooLarge { limit: 1000 }),
        "{error}"
    );
}

#[test]
fn entries_beyond_the_limit_are_refused() {
    let names: Vec<_> = (10..21).map(|number| number.to_string()).collect();
    let entries: Vec<_> = names.iter().map(|name| directory(name)).collect();
    let error = refused(&archive(&entries));
    assert!(
        matches!(error, UnpackError::TooManyFiles { limit: 10 }),
        "{error}"
    );
}

#[test]
fn a_size_that_the_header_only_claims_is_refused_before_anything_is_read() {
    let mut header = Header::new_gnu();
    header.set_path("a").unwrap();
    header.set_entry_type(EntryType::Regular);
    header.set_size(u64::MAX / 2);
    header.set_cksum();
    let error = refused(&compress(header.as_bytes()));
    assert!(matches!(error, UnpackError::TooLarge { .. }), "{error}");
}

#[test]
fn a_bomb_behind_the_end_of_the_archive_goes_off_at_the_limit() {
    let mut bytes = zstd::decode_all(archive(&[file("a")]).as_slice()).unwrap();
    bytes.resize(50_000_000, 0);
    let error = refused(&compress(&bytes));
    assert!(matches!(error, UnpackError::TooLarge { .. }), "{error}");
}

#[test]
fn a_window_larger_than_any_that_packing_uses_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(27).unwrap();
    std::io::Write::write_all(&mut encoder, &[0; 1000]).unwrap();
    let error = refused(&encoder.finish().unwrap());
    assert!(matches!(error, UnpackError::Damaged(_)), "{error}");
}

proptest! {
    #[test]
    fn noise_is_refused_without_harm(noise in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let error = refused(&noise);
        prop_assert!(matches!(error, UnpackError::Damaged(_)), "{}", error);
    }

    #[test]
    fn a_damaged_tar_never_writes_outside(
        at in 0_usize..3072,
        byte in any::<u8>(),
    ) {
        let entries = [directory("a"), file("a/b")];
        let mut bytes = zstd::decode_all(archive(&entries).as_slice()).unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        let outside = TempDir::new().unwrap();
        let into = outside.path().join("unpacked");
        let unpacked = unpack(&compress(&bytes), &into, &LIMITS).is_ok();
        let expected = usize::from(unpacked);
        prop_assert_eq!(fs::read_dir(outside.path()).unwrap().count(), expected);
    }
}
