use std::path::Path;

use crate::fixture::{Tree, call, names};

#[test]
fn called_directories_outside_are_packed_transitively() {
    let tree = Tree::new(&[
        ("modules/web/main.tf", &call("shared", "../shared")),
        ("modules/web/lib/part.tf", "# part\n"),
        ("modules/shared/main.tf", &call("base", "../../base")),
        ("modules/unrelated/main.tf", "# unrelated\n"),
        (
            "base/main.tf.json",
            r#"{"module": {"web": {"source": "../deep/er/x"}}}"#,
        ),
        ("deep/er/x/main.tf", "# x\n"),
        ("deep/er/y/main.tf", "# y\n"),
    ]);
    let bundle = tree.pack("modules/web");
    assert_eq!(bundle.module, Path::new("modules/web"));
    assert_eq!(
        names(&bundle),
        [
            "base/",
            "base/main.tf.json",
            "deep/",
            "deep/er/",
            "deep/er/x/",
            "deep/er/x/main.tf",
            "modules/",
            "modules/shared/",
            "modules/shared/main.tf",
            "modules/web/",
            "modules/web/lib/",
            "modules/web/lib/part.tf",
            "modules/web/main.tf",
        ]
    );
}

#[test]
fn a_change_of_a_called_module_is_another_bundle() {
    let tree = Tree::new(&[
        ("web/main.tf", &call("shared", "../shared")),
        ("shared/main.tf", "# one\n"),
    ]);
    let before = tree.pack("web").hash;
    tree.write("shared/main.tf", "# two\n");
    assert_ne!(tree.pack("web").hash, before);
}

#[test]
fn a_module_without_calls_to_the_outside_is_its_own_root() {
    let tree = Tree::new(&[
        ("web/main.tf", &call("lib", "./lib")),
        ("web/lib/main.tf", &call("other", "../other")),
        ("web/other/main.tf", ""),
        ("beside/main.tf", ""),
    ]);
    let bundle = tree.pack("web");
    assert_eq!(bundle.module, Path::new(""));
    assert_eq!(
        names(&bundle),
        ["lib/", "lib/main.tf", "main.tf", "other/", "other/main.tf"]
    );
}

#[test]
fn an_example_may_call_the_module_around_it() {
    let tree = Tree::new(&[
        (
            "repository/examples/basic/main.tf",
            &call("module", "../../"),
        ),
        ("repository/main.tf", "# main\n"),
    ]);
    let bundle = tree.pack("repository/examples/basic");
    assert_eq!(bundle.module, Path::new("examples/basic"));
    assert!(names(&bundle).contains(&"main.tf".to_owned()));
}

#[test]
fn files_that_cannot_be_parsed_are_packed_and_do_not_end_the_search() {
    let tree = Tree::new(&[
        ("web/broken.tf", "module \"a\" {\n  source = \"../a\"\n"),
        ("web/broken.tf.json", "{"),
        ("web/main.tf", &call("b", "../b")),
        ("a/main.tf", ""),
        ("b/main.tf", ""),
    ]);
    let bundle = tree.pack("web");
    assert_eq!(
        names(&bundle),
        [
            "a/",
            "a/main.tf",
            "b/",
            "b/main.tf",
            "web/",
            "web/broken.tf",
            "web/broken.tf.json",
            "web/main.tf"
        ]
    );
}

#[test]
fn a_called_directory_that_is_not_there_is_left_to_terraform() {
    let tree = Tree::new(&[("web/main.tf", &call("gone", "../gone"))]);
    assert_eq!(names(&tree.pack("web")), ["main.tf"]);
}
