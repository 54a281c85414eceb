use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cts_bundle::pack;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::fixture::{contents, packing};

/// A name of any bytes that packing does not leave out.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = vec(any::<u8>(), 1..12);
    let long = (b'a'..=b'z', 90_usize..=255).prop_map(|(byte, length)| vec![byte; length]);
    prop_oneof![4 => any_bytes, 1 => long].prop_filter("left out or not a name", |name| {
        let left_out = name.starts_with(b"..") || name.as_slice() == b".";
        !left_out && !name.contains(&0) && !name.contains(&b'/')
    })
}

/// Files by path; where a path goes through another's file, it is dropped.
fn files() -> impl Strategy<Value = BTreeMap<Vec<u8>, Vec<u8>>> {
    let path = vec(name(), 1..4).prop_map(|names| names.join(&b'/'));
    btree_map(path, vec(any::<u8>(), 0..300), 0..12).prop_map(|files| {
        let is_file = |path: &[u8]| files.contains_key(path);
        let reachable = |path: &[u8]| {
            let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            slashes.into_iter().all(|(at, _)| !is_file(&path[..at]))
        };
        let kept = files.iter().filter(|(path, _)| reachable(path));
        kept.map(|(path, content)| (path.clone(), content.clone()))
            .collect()
    })
}

fn write<'a>(root: &Path, files: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) {
    for (path, content) in files {
        let path = root.join(OsStr::from_bytes(path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_files_come_back_as_they_were(files in files()) {
        let root = TempDir::new().unwrap();
        write(root.path(), files.iter());
        let bundle = pack(root.path(), &packing(root.path())).unwrap();
        let mut unpacked = contents(&bundle);
        unpacked.retain(|path, _| !path.as_os_str().as_bytes().ends_with(b"/"));
        let expected: BTreeMap<PathBuf, Vec<u8>> = files
            .into_iter()
            .map(|(path, content)| (PathBuf::from(OsStr::from_bytes(&path)), content))
            .collect();
        prop_assert_eq!(unpacked, expected);
    }

    #[test]
    fn the_order_of_creation_and_the_place_do_not_matter(files in files()) {
        let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let other_module = other.path().join("some/where/else");
        fs::create_dir_all(&other_module).unwrap();
        write(one.path(), files.iter());
        write(&other_module, files.iter().rev());
        prop_assert_eq!(
            pack(one.path(), &packing(one.path())).unwrap(),
            pack(&other_module, &packing(other.path())).unwrap()
        );
    }

    #[test]
    fn any_change_of_a_byte_is_another_hash(files in files(), which in any::<prop::sample::Index>()) {
        prop_assume!(!files.is_empty());
        let root = TempDir::new().unwrap();
        write(root.path(), files.iter());
        let packing = packing(root.path());
        let before = pack(root.path(), &packing).unwrap().hash;
        let (path, content) = files.iter().nth(which.index(files.len())).unwrap();
        let changed = [content.as_slice(), b"!"].concat();
        fs::write(root.path().join(OsStr::from_bytes(path)), changed).unwrap();
        prop_assert_ne!(pack(root.path(), &packing).unwrap().hash, before);
    }
}
