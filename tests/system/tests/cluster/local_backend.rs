//! State on one machine is refused where several workers would look for it.

use cts_tests::{Exit, Plan, RECORDER, Site, task};

use crate::cluster::scene::Scene;

const DATABASE: &str = "database { url = \"postgres://cts@127.0.0.1:1/cts\" }\n";
const CLUSTER: &str = "high_availability {\n  cluster {\n    name = \"edge\"\n  }\n}\n";

async fn end_of(command: &str, more: &str) -> (Site, Exit) {
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let pool = task("pool", "./modules/pool", &["web"], "");
    let text = format!(
        "working_dir = \"work\"\nport = 1\nconsul {{ address = \"127.0.0.1:1\" }}\n\
         driver \"terraform\" {{\n  backend \"local\" {{}}\n}}\n{pool}{more}"
    );
    site.write("cts.hcl", &text);
    let mut arguments = vec![
        command,
        "-config-file",
        "cts.hcl",
        "-grpc-address",
        "127.0.0.1:0",
    ];
    if command == "start" {
        site.write(
            "port.hcl",
            &format!("port = {}\n", cts_testkit::free_port()),
        );
        arguments.extend(["-config-file", "port.hcl", "-bind-address", "127.0.0.1"]);
    }
    let exit = site.run("cts", &arguments, "refused.log").wait().await;
    (site, exit)
}

#[tokio::test]
async fn local_backend_is_refused_with_the_reason_and_the_remedy() {
    for (command, more) in [
        ("worker", ""),
        ("scheduler", DATABASE),
        ("start", DATABASE),
        ("start", CLUSTER),
    ] {
        let (site, exit) = end_of(command, more).await;
        exit.assert_code(15).says([
            r#"backend \"local\" cannot be used here"#,
            "its state lives on one machine",
            "shared_local_backend = true",
        ]);
        assert!(!site.work().exists(), "{command} left something behind");
    }
}

#[tokio::test]
async fn local_backend_is_accepted_if_the_file_says_it_is_shared() {
    let mut scene = Scene::start(Plan::of(1, 1, 2, 1)).await;
    scene.change_is_applied().await;
    // The step ends before Terraform has written its state, which it does in place.
    scene.site.wait_for_ids("pool", &["web-1", "web-2"]).await;
}
