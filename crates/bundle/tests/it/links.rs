use cts_bundle::{Limits, PackFailure};

use crate::fixture::{Tree, call, contents, names};

#[test]
fn links_to_files_are_packed_as_files_wherever_they_lead() {
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
