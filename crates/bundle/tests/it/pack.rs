use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cts_bundle::{Limits, PackFailure, Packing, identify, pack};

use crate::fixture::{Tree, names};

const MAIN: (&str, &str) = ("module/main.tf", "# main\n");

#[test]
fn equal_content_is_an_equal_bundle_wherever_it_is() {
    let files = [MAIN, ("module/b/x.txt", "x"), ("module/a.tf", "# a\n")];
    let one = Tree::new(&files);
    let reversed: Vec<_> = files.into_iter().rev().collect();
    let other = Tree::new(&reversed);
    File::open(other.path("module/main.tf"))
        .unwrap()
        .set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH))
        .unwrap();
    fs::set_permissions(other.path("module/a.tf"), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(one.pack("module"), other.pack("module"));
}

#[test]
fn content_names_and_the_executable_bit_make_the_hash() {
    let tree = Tree::new(&[MAIN]);
    let mut hashes = vec![tree.pack("module").hash];
    tree.write("module/main.tf", "# other\n");
    hashes.push(tree.pack("module").hash);
    fs::rename(tree.path("module/main.tf"), tree.path("module/other.tf")).unwrap();
    hashes.push(tree.pack("module").hash);
    fs::set_permissions(tree.path("module/other.tf"), Permissions::from_mode(0o755)).unwrap();
    hashes.push(tree.pack("module").hash);
    fs::create_dir(tree.path("module/empty")).unwrap();
    hashes.push(tree.pack("module").hash);
    let different: std::collections::BTreeSet<_> = hashes.iter().collect();
    assert_eq!(different.len(), hashes.len());
}

#[test]
fn the_identity_is_known_without_packing() {
    let tree = Tree::new(&[MAIN, ("module/lib/x", "x")]);
    let bundle = tree.pack("module");
    let identity = identify(&tree.path("module"), &tree.packing()).unwrap();
    assert_eq!(identity.hash, bundle.hash);
    assert_eq!(identity.module, bundle.module);
    assert_eq!(identity.root, tree.path("module"));
}

#[test]
fn leaves_out_working_files_of_terraform_and_git() {
    let tree = Tree::new(&[
        MAIN,
        ("module/.terraform.lock.hcl", "lock"),
        ("module/.terraform/modules/modules.json", "{}"),
        ("module/.git/HEAD", "ref"),
        ("module/.gitignore", "x"),
        ("module/terraform.tfstate", "{}"),
        ("module/terraform.tfstate.backup", "{}"),
        ("module/.terraform.tfstate.lock.info", "{}"),
        ("module/lib/other.tfstate", "{}"),
        ("module/lib/.terraform/x", "x"),
        ("module/crash.log", "panic"),
        ("module/crash.20240101.log", "panic"),
        ("module/crash.tf", "# no log\n"),
        ("module/..2024_01_01/main.tf", "# mounted\n"),
    ]);
    assert_eq!(
        names(&tree.pack("module")),
        [
            ".gitignore",
            ".terraform.lock.hcl",
            "crash.tf",
            "lib/",
            "main.tf"
        ]
    );
}

#[test]
fn excluded_directories_are_left_out() {
    let tree = Tree::new(&[MAIN, ("module/tasks/web/terraform.tfvars", "1")]);
    let module = tree.path("module");
    let packing = Packing {
        excluded: vec![tree.path("module/tasks")],
        ..tree.packing()
    };
    let bundle = pack(&module, &packing).unwrap();
    assert_eq!(names(&bundle), ["main.tf"]);
    tree.write("module/tasks/web/terraform.tfvars", "2");
    let again = pack(&module, &packing).unwrap();
    assert_eq!(again.hash, bundle.hash);
}

#[test]
fn a_module_that_is_too_large_is_told_what_to_do() {
    let tree = Tree::new(&[MAIN, ("module/large", "0123456789")]);
    let limits = Limits {
        max_bytes: 16,
        ..Limits::default()
    };
    let failure = tree.failure("module", &limits);
    assert!(matches!(failure, PackFailure::TooLarge { limit: 16 }));
    let text = failure.to_string();
    assert!(
        text.contains("16 bytes") && text.contains("keep only"),
        "{text}"
    );
    let exact = Limits {
        max_bytes: 17,
        ..limits
    };
    let packing = Packing {
        limits: exact,
        ..tree.packing()
    };
    pack(&tree.path("module"), &packing).unwrap();
}

#[test]
fn a_file_that_fits_into_no_bundle_is_not_read() {
    let tree = Tree::new(&[MAIN]);
    let large = File::create(tree.path("module/image")).unwrap();
    // More than memory, and more than a test could read.
    large.set_len(50 * 1024 * 1024 * 1024).unwrap();
    let failure = tree.failure("module", &Limits::default());
    assert!(matches!(failure, PackFailure::TooLarge { .. }), "{failure}");

    let unlimited = Packing {
        limits: Limits {
            max_bytes: u64::MAX,
            max_files: usize::MAX,
        },
        ..tree.packing()
    };
    let mut hashes = Vec::new();
    let mut identify = || {
        let identity = identify(&tree.path("module"), &unlimited).unwrap();
        hashes.push(identity.hash);
    };
    identify();
    identify();
    let hour = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
    large.set_modified(hour).unwrap();
    identify();
    large.set_len(51 * 1024 * 1024 * 1024).unwrap();
    large.set_modified(hour).unwrap();
    identify();
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[1], hashes[2]);
    assert_ne!(hashes[2], hashes[3]);
}

#[test]
fn the_working_directory_is_no_module() {
    let tree = Tree::new(&[MAIN, ("module/web/terraform.tfvars", "1")]);
    let module = tree.path("module");
    let packing = Packing {
        excluded: vec![module.clone()],
        ..tree.packing()
    };
    let error = pack(&module, &packing).unwrap_err();
    assert!(
        matches!(error.failure, PackFailure::WorkingDirectory { .. }),
        "{error}"
    );
}

#[test]
fn a_module_of_too_many_files_is_told_what_to_do() {
    let tree = Tree::new(&[MAIN, ("module/a/b/c", "")]);
    let limits = Limits {
        max_files: 3,
        ..Limits::default()
    };
    let failure = tree.failure("module", &limits);
    assert!(matches!(failure, PackFailure::TooManyFiles { limit: 3 }));
    assert!(failure.to_string().contains("3 files and directories"));
    let exact = Limits {
        max_files: 4,
        ..limits
    };
    let packing = Packing {
        limits: exact,
        ..tree.packing()
    };
    pack(&tree.path("module"), &packing).unwrap();
}

#[test]
fn devices_pipes_and_sockets_are_refused_without_being_opened() {
    let tree = Tree::new(&[MAIN]);
    let pipe = tree.path("module/pipe.tf");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    match tree.failure("module", &Limits::default()) {
        PackFailure::SpecialFile { path } => assert_eq!(path, pipe),
        other => panic!("{other}"),
    }
}

#[test]
fn refuses_paths_that_are_no_module_directory() {
    let tree = Tree::new(&[MAIN]);
    let limits = Limits::default();
    let failure = tree.failure("module/main.tf", &limits);
    assert!(matches!(failure, PackFailure::NotADirectory));
    let failure = tree.failure("nowhere", &limits);
    assert!(matches!(failure, PackFailure::Read { .. }));
    let error = pack(Path::new("module"), &tree.packing()).unwrap_err();
    assert!(matches!(error.failure, PackFailure::NotAbsolute));
    assert_eq!(error.to_string(), "cannot pack module module");
}

#[test]
fn debug_does_not_show_the_content() {
    let tree = Tree::new(&[MAIN]);
    let bundle = tree.pack("module");
    let length = bundle.bytes.len();
    assert!(format!("{bundle:?}").contains(&format!("bytes: {length}")));
}
