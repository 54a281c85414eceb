use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use cts_bundle::{Limits, UnpackError, unpack};
use tempfile::TempDir;

use crate::fixture::Tree;

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn modes_are_the_ones_of_task_directories() {
    let tree = Tree::new(&[("module/main.tf", ""), ("module/lib/run.sh", "")]);
    fs::set_permissions(
        tree.path("module/lib/run.sh"),
        Permissions::from_mode(0o777),
    )
    .unwrap();
    let bundle = tree.pack("module");
    let into = tree.path("new/parent/unpacked");
    unpack(&bundle.bytes, &into, &Limits::default()).unwrap();
    // The umask of the test run may take more away.
    assert_eq!(mode(&into) & !0o750, 0);
    assert_eq!(mode(&into.join("main.tf")) & !0o640, 0);
    assert_eq!(mode(&into.join("lib/run.sh")) & 0o701, 0o700);
}

#[test]
fn a_directory_that_is_there_stays_as_it_is() {
    let tree = Tree::new(&[
        ("module/main.tf", "# new\n"),
        ("there/main.tf", "# there\n"),
    ]);
    let bundle = tree.pack("module");
    let into = tree.path("there");
    unpack(&bundle.bytes, &into, &Limits::default()).unwrap();
    assert_eq!(
        fs::read_to_string(into.join("main.tf")).unwrap(),
        "# there\n"
    );
}

#[test]
fn parallel_unpacks_of_one_bundle_do_not_disturb_each_other() {
    let tree = Tree::new(&[("module/main.tf", "# main\n"), ("module/lib/x", "x")]);
    let bundle = tree.pack("module");
    let target = TempDir::new().unwrap();
    let into = target.path().join("unpacked");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| unpack(&bundle.bytes, &into, &Limits::default()).unwrap());
        }
    });
    assert_eq!(
        fs::read_to_string(into.join("main.tf")).unwrap(),
        "# main\n"
    );
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 1);
}

#[test]
fn an_archive_that_is_cut_off_anywhere_is_never_taken_for_the_whole() {
    let tree = Tree::new(&[("module/main.tf", "# main\n"), ("module/z.tf", "# z\n")]);
    let bundle = tree.pack("module");
    let target = TempDir::new().unwrap();
    for length in 0..bundle.bytes.len() {
        let into = target.path().join("unpacked");
        let error = unpack(&bundle.bytes[..length], &into, &Limits::default()).unwrap_err();
        assert!(
            matches!(error, UnpackError::Damaged(_)),
            "{length}: {error}"
        );
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0, "{length}");
    }
}
