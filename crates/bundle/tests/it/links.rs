use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use cts_bundle::{Limits, PackFailure, identify, pack};

use crate::fixture::{Tree, call, contents, names, packing};

#[test]
fn links_to_files_are_packed_as_files_wherever_they_lead_in_a_root() {
    let tree = Tree::new(&[("module/main.tf", ""), ("outside/key.pem", "key")]);
    tree.link("module/near.tf", "main.tf");
    tree.link("module/key.pem", "../outside/key.pem");
    let bundle = tree.pack("module");
    assert_eq!(names(&bundle), ["key.pem", "main.tf", "near.tf"]);
    assert_eq!(contents(&bundle)[std::path::Path::new("key.pem")], b"key");
}

#[test]
fn links_to_directories_inside_are_packed_as_directories() {
    let tree = Tree::new(&[("module/v1/x", "x"), ("module/main.tf", "")]);
    tree.link("module/current", "v1");
    assert_eq!(
        names(&tree.pack("module")),
        ["current/", "current/x", "main.tf", "v1/", "v1/x"]
    );
}

#[test]
fn a_link_to_a_directory_outside_is_refused() {
    let tree = Tree::new(&[("module/main.tf", ""), ("outside/secret", "")]);
    tree.link("module/out", "../outside");
    match tree.failure("module", &Limits::default()) {
        PackFailure::LinkLeaves { path, target } => {
            assert_eq!(path, tree.path("module/out"));
            assert!(target.ends_with("outside"));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_link_to_a_directory_outside_that_is_called_as_a_module_is_packed() {
    let tree = Tree::new(&[
        ("module/main.tf", &call("out", "./out")),
        ("outside/main.tf", "# outside\n"),
    ]);
    tree.link("module/out", "../outside");
    let bundle = tree.pack("module");
    assert_eq!(names(&bundle), ["main.tf", "out/", "out/main.tf"]);
}

#[test]
fn links_in_a_circle_are_refused() {
    let tree = Tree::new(&[("module/a/x", ""), ("module/b/x", "")]);
    tree.link("module/a/to_b", "../b");
    tree.link("module/b/to_a", "../a");
    let failure = tree.failure("module", &Limits::default());
    assert!(matches!(failure, PackFailure::LinkLoop { .. }), "{failure}");
}

#[test]
fn a_module_that_calls_itself_through_a_link_is_refused() {
    let tree = Tree::new(&[("module/main.tf", &call("self", "./self"))]);
    tree.link("module/self", ".");
    let failure = tree.failure("module", &Limits::default());
    assert!(matches!(failure, PackFailure::LinkLoop { .. }), "{failure}");
}

#[test]
fn links_to_nothing_are_left_out() {
    let tree = Tree::new(&[("module/main.tf", "")]);
    tree.link("module/.#main.tf", "somebody@host.1234");
    assert_eq!(names(&tree.pack("module")), ["main.tf"]);
}

#[test]
fn a_module_directory_may_be_a_link() {
    let tree = Tree::new(&[("versions/7/main.tf", "# 7\n")]);
    tree.link("module", "versions/7");
    let bundle = tree.pack("module");
    assert_eq!(names(&bundle), ["main.tf"]);
    assert_eq!(bundle, tree.pack("versions/7"));
}

#[test]
fn a_mounted_config_map_is_the_same_after_every_mount() {
    let mounted = |time: &str| {
        let tree = Tree::new(&[(&format!("module/{time}/main.tf"), "# main\n")]);
        tree.write(&format!("module/{time}/lib/x.tf"), "# x\n");
        tree.link("module/..data", time);
        tree.link("module/main.tf", "..data/main.tf");
        tree.link("module/lib", "..data/lib");
        tree.pack("module")
    };
    let first = mounted("..2024_01_01");
    assert_eq!(names(&first), ["lib/", "lib/x.tf", "main.tf"]);
    assert_eq!(first, mounted("..2024_02_02"));
}

#[test]
fn a_link_out_of_every_root_is_refused_with_the_root_to_add() {
    let tree = Tree::new(&[("root/module/main.tf", ""), ("outside/key.pem", "key")]);
    tree.link("root/module/key.pem", "../../outside/key.pem");
    let module = tree.path("root/module");
    let packing = |root: &str| packing(&tree.path(root));
    let error = pack(&module, &packing("root")).unwrap_err();
    let PackFailure::LeavesRoots { path, target, root } = &error.failure else {
        panic!("{error}");
    };
    assert_eq!(*path, tree.path("root/module/key.pem"));
    assert!(target.ends_with("outside/key.pem"));
    assert!(root.ends_with("outside"));
    let text = error.failure.to_string();
    assert!(text.contains("add module_roots = [\""), "{text}");
    let failed = identify(&module, &packing("root")).unwrap_err();
    assert_eq!(failed.failure.to_string(), text);
    pack(&module, &packing("")).unwrap();
}

#[test]
fn a_call_out_of_every_root_is_refused_also_through_a_link() {
    let tree = Tree::new(&[
        ("root/module/main.tf", &call("out", "../../outside")),
        ("root/linked/main.tf", &call("out", "./out")),
        ("root/missing/main.tf", &call("none", "../../nowhere")),
        ("outside/main.tf", ""),
    ]);
    tree.link("root/linked/out", "../../outside");
    let packing = packing(&tree.path("root"));
    for module in ["root/module", "root/linked"] {
        let error = pack(&tree.path(module), &packing).unwrap_err();
        let leaves = matches!(error.failure, PackFailure::LeavesRoots { .. });
        assert!(leaves, "{error}");
    }
    let error = pack(&tree.path("outside"), &packing).unwrap_err();
    assert!(matches!(error.failure, PackFailure::LeavesRoots { .. }));
    pack(&tree.path("root/missing"), &packing).unwrap();
}

#[test]
fn refuses_links_into_kernel_file_systems() {
    let tree = Tree::new(&[("module/main.tf", "")]);
    tree.link("module/environment.tf", "/proc/self/environ");
    let everything = packing(std::path::Path::new("/"));
    let error = pack(&tree.path("module"), &everything).unwrap_err();
    assert!(
        matches!(error.failure, PackFailure::MadeUp { .. }),
        "{error}"
    );
}

/// The link comes at another moment of each packing: before the walk, after it, and after the file was read.
#[test]
fn a_file_that_becomes_a_link_while_it_is_packed_brings_no_other_file() {
    const PACKS: u32 = 150;
    const LATER: u32 = 1000;
    let tree = Tree::new(&[("outside/key", "a secret")]);
    for number in 0..60 {
        tree.write(&format!("root/module/b{number}.tf"), "");
    }
    let (file, next) = (tree.path("root/module/c.tf"), tree.path("root/next"));
    let packing = packing(&tree.path("root"));
    let together = Barrier::new(2);
    let mut outcomes = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for pack in 0..PACKS {
                symlink(tree.path("outside/key"), &next).unwrap();
                together.wait();
                for _spin in 0..pack * LATER {
                    std::hint::spin_loop();
                }
                fs::rename(&next, &file).unwrap();
                together.wait();
            }
        });
        for _pack in 0..PACKS {
            tree.write("root/module/d.tf", "content");
            fs::rename(tree.path("root/module/d.tf"), &file).unwrap();
            together.wait();
            let packed = pack(&tree.path("root/module"), &packing);
            together.wait();
            outcomes.push(packed.map_err(|error| error.failure));
        }
    });
    for outcome in outcomes {
        match outcome {
            Ok(bundle) => assert_eq!(contents(&bundle)[Path::new("c.tf")], b"content"),
            Err(PackFailure::LeavesRoots { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}
