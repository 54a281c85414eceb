//! Tokens that are written into files (docs/access.md#tokens).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use cts_tests::{Backend, Exit, Instance, Site, task as block};

use crate::api::scene::{MODULE, prepare};

const NO_BOUNDARY: &str = "The patterns are no boundary for the role admin";

async fn create(site: &Site, name: &str, more: &[&str]) -> Exit {
    let words = ["token", "create", name, "-config-file=cts.hcl"];
    let words = [&words, more].concat();
    site.run("cts", &words, &format!("{name}.log")).wait().await
}

#[tokio::test]
async fn a_token_is_written_for_its_owner_only_and_says_what_it_is_no_boundary_for() {
    let (site, consul) = prepare(Site::new(), "").await;
    let tasks = block("web", MODULE, &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &tasks);
    let instance = Instance::start_embedded(&site).await;

    let limited = ["-role=admin", "-tasks=web-*", "-out=team.token"];
    let made = create(&site, "team", &limited).await;
    made.assert_code(0);
    assert!(made.output.contains(NO_BOUNDARY), "{}", made.output);
    assert!(!made.output.contains("cts_"), "{}", made.output);
    let path = site.path().join("team.token");
    let token = fs::read_to_string(&path).unwrap();
    assert!(
        token.starts_with("cts_") && token.ends_with('\n'),
        "{token:?}"
    );
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );

    // A file that is there is left alone, and no token is made.
    let again = create(&site, "other", &["-role=read", "-out=team.token"]).await;
    again.assert_code(11);
    assert!(
        again.output.contains("team.token cannot be made"),
        "{}",
        again.output
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), token);
    // A token that cannot be made leaves no file.
    let taken = create(&site, "team", &["-role=read", "-out=taken.token"]).await;
    taken.assert_code(11);
    assert!(!site.path().join("taken.token").exists());
    let json = create(&site, "json", &["-role=read", "-out=json.token", "-o=json"]).await;
    json.assert_code(0);
    assert!(
        json.output.contains("\"file\": \"json.token\""),
        "{}",
        json.output
    );
    assert!(!json.output.contains("\"token\""), "{}", json.output);
    let listed = ["token", "list", "-config-file=cts.hcl"];
    let listed = site.run("cts", &listed, "list.log").wait().await;
    assert!(
        listed.output.contains("team") && !listed.output.contains("other"),
        "{}",
        listed.output
    );

    let sources = "security {\n  module_sources = [\"./modules/\"]\n}\n";
    site.configure(
        &consul.address(),
        Backend::Shared,
        &format!("{sources}{tasks}"),
    );
    let bounded = create(
        &site,
        "bounded",
        &["-role=admin", "-tasks=web-*", "-out=b.token"],
    )
    .await;
    bounded.assert_code(0);
    assert!(!bounded.output.contains(NO_BOUNDARY), "{}", bounded.output);
    instance.stop().await;
}
