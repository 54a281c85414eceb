use super::*;

const REGISTRY: &str = "registry.terraform.io";

fn sources(entries: &[&str], current_dir: &Path) -> AllowedSources {
    let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
    for entry in &entries {
        assert_eq!(AllowedSources::check_entry(entry), Ok(()), "{entry}");
    }
    AllowedSources::new(&entries, current_dir, REGISTRY)
}

#[track_caller]
fn assert_allows(entries: &[&str], allowed: &[&str], refused: &[&str]) {
    let sources = sources(entries, Path::new("/nonexistent/cts"));
    for source in allowed {
        assert_eq!(sources.check(source), Ok(()), "{source}");
    }
    for source in refused {
        assert!(sources.check(source).is_err(), "{source}");
    }
}

#[test]
fn a_registry_is_named_by_its_host_or_a_namespace() {
    let same = [
        "acme/web/any",
        "acme/web/any//modules/one",
        "registry.terraform.io/acme/web/any",
        "Registry.Terraform.io/acme/web/any",
    ];
    let others = [
        "acme2/web/any",
        "Acme/web/any",
        "other/acme/web",
        "other.example/acme/web/any",
        "acme/web",
        "acme/web/any/more",
        "acme/web/any?ref=v1",
        "acme/../other/any",
        "acme/web/any//../x",
        "acme//web/any",
        "https://registry.terraform.io/acme/web/any",
        "./acme/web/any",
        "/acme/web/any",
    ];
    assert_allows(&["acme/"], &same, &others);
    assert_allows(&["acme"], &same, &others);
    assert_allows(&["registry.terraform.io/acme"], &same, &others);
    assert_allows(&["REGISTRY.terraform.io/"], &same[..3], &others[3..4]);
    assert_allows(
        &["tf.example:8443"],
        &["tf.example:8443/acme/web/any"],
        &[
            "tf.example/acme/web/any",
            "tf.example:8443.evil.example/acme/web/any",
            "tf.example:8443@evil.example/acme/web/any",
            "acme/web/any",
        ],
    );
    assert_allows(
        &["acme/web"],
        &["acme/web/any", "acme/web/other"],
        &["acme/webs/any", "acme/we/b"],
    );
}

#[test]
fn a_prefix_of_urls_covers_whole_segments_of_the_path() {
    assert_allows(
        &["git::https://git.example/infra/"],
        &[
            "git::https://git.example/infra/web.git",
            "git::https://git.example/infra/web.git?ref=v1.2.3",
            "git::https://git.example/infra/web.git//modules/one?ref=v1&depth=1",
        ],
        &[
            "git::https://git.example/infra",
            "git::https://git.example/infrastructure/web.git",
            "git::https://git.example/other/web.git",
            "git::https://git.example/other.git//infra/web",
            "git::https://git.example//infra/web",
            "git::https://git.example/infra/../other/web.git",
            "git::https://git.example/infra/./web.git",
            "git::https://git.example/infra//../../other/web.git",
            "git::https://git.example/infra//a//b",
            "git::https://git.example/infra/%2e%2e/other/web.git",
            "git::https://git.example/infra%2f..%2fother/web.git",
            "git::https://git.example/infra/web.git?ref=--upload-pack=x",
            "git::https://git.example/infra/\\..\\web.git",
            "git::https://git.example/infra/web.git#x",
            "git::https://git.example/infra/we b.git",
            "git::https://git.example/infra/web.git\n",
            "git::https://git.example.evil.example/infra/web.git",
            "git::https://git.example@evil.example/infra/web.git",
            "git::https://evil.example/https://git.example/infra/web.git",
            "git::https://evil.example?x=git::https://git.example/infra/",
            "git::https://token@git.example/infra/web.git",
            "git::https://git.example:443/infra/web.git",
            "git::https://git.example./infra/web.git",
            "git::https://GIT.example/infra/web.git",
            "git::HTTPS://git.example/infra/web.git",
            "GIT::https://git.example/infra/web.git",
            "git::git::https://git.example/infra/web.git",
            "git::http://git.example/infra/web.git",
            "git::ssh://git.example/infra/web.git",
            "git::ssh://git@git.example/infra/web.git",
            "hg::https://git.example/infra/web",
            "https://git.example/infra/web.zip",
            "git@git.example:infra/web.git",
            "git::git@git.example:infra/web.git",
            "git::file:///infra/web.git",
            "git::/infra/web.git",
            "git::./infra/web",
            "file:///infra/web",
            "file::/infra/web",
            "file:/infra/web",
            "git.example/infra/web",
            " git::https://git.example/infra/web.git",
            "",
        ],
    );
    assert_allows(
        &["git::ssh://git@git.example/infra", "https://files.example/"],
        &[
            "git::ssh://git@git.example/infra/web.git?ref=v1",
            "https://files.example/web.zip",
        ],
        &[
            "git::ssh://root@git.example/infra/web.git",
            "git::ssh://git.example/infra/web.git",
            "s3::https://files.example/web.zip",
            "https://git@files.example/web.zip",
        ],
    );
}

#[test]
fn the_short_form_of_github_is_its_url() {
    let allowed = [
        "github.com/acme/web",
        "github.com/acme/web.git?ref=v1",
        "github.com/acme/web//modules/one",
        "github.com/acme/web/modules/one",
        "git::https://github.com/acme/web.git?ref=v1",
    ];
    let refused = [
        "github.com/acme2/web",
        "github.com/acme/../other",
        "github.com/acme/web/../../other/x",
        "git@github.com:acme/web.git",
        "www.github.com/acme/web",
        "acme/web/any",
    ];
    assert_allows(&["github.com/acme/"], &allowed, &refused);
    assert_allows(&["git::https://github.com/acme"], &allowed, &refused);
}

#[test]
fn an_empty_list_allows_nothing() {
    assert_allows(
        &[],
        &[],
        &["acme/web/any", "./m", "/m", "git::https://g.example/x"],
    );
}

#[test]
fn directories_cover_what_is_really_below_them() {
    let directory = tempfile::TempDir::new().unwrap();
    let root = directory.path();
    for path in ["modules/web", "modules-old/web", "secret"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    std::os::unix::fs::symlink(root.join("secret"), root.join("modules/link")).unwrap();
    std::os::unix::fs::symlink(root.join("modules"), root.join("alias")).unwrap();
    let sources = sources(&["./modules/"], root);
    let absolute = |path: &str| root.join(path).to_str().unwrap().to_owned();
    for source in [
        "./modules/web".to_owned(),
        "./modules//web".to_owned(),
        "./modules".to_owned(),
        "./secret/../modules/web".to_owned(),
        absolute("modules/web"),
    ] {
        assert_eq!(sources.check(&source), Ok(()), "{source}");
        assert!(
            sources.hold(&local_path(root, &source).unwrap()),
            "{source}"
        );
    }
    assert_eq!(
        sources.check("./modules/link"),
        Ok(()),
        "files do not count"
    );
    assert!(!sources.hold(&root.join("modules/link")));
    for source in [
        "./modules/../secret".to_owned(),
        "./modules/link/../../secret".to_owned(),
        "./modules-old/web".to_owned(),
        "./alias/web".to_owned(),
        "./Modules/web".to_owned(),
        "../modules/web".to_owned(),
        "modules/web".to_owned(),
        "modules/web/any".to_owned(),
        absolute("secret"),
        format!("file://{}", absolute("modules/web")),
        format!("git::{}", absolute("modules/web")),
        "/".to_owned(),
    ] {
        assert!(sources.check(&source).is_err(), "{source}");
    }
}

#[test]
fn entries_that_match_nothing_are_refused() {
    for entry in [
        "",
        " ",
        "git.example/a/b/c/d",
        "a/b/c/d",
        "git::",
        "git::https://",
        "git@git.example:infra",
        "git::https://git.example/infra?ref=v1",
        "git::https://git.example/../infra",
        "https://git.example//x",
        "*",
        "https://*.example/",
    ] {
        assert!(AllowedSources::check_entry(entry).is_err(), "{entry}");
    }
}
