//! Values full of characters that mean something to Terraform, shells and terminals arrive unchanged.

use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Driver, Instance, RECORDER, Site};
use rstest::rstest;
use serde_json::{Value, json};

/// Far below the 512 bytes that Consul allows a meta value.
const HOSTILE: &str = "\"'` ${x} %{x} $${x} %%{x} ${\"${y}\"} $ % \\ \\\" \\n \\u0041 \n\r\n\t \
     %{ if true ~} ~} <<EOT\nEOT\n# // /* */ {{ . }} {{ end }} \u{1f600}\u{1f469}\u{200d}\u{1f692} \
     \u{e9}\u{fc}\u{4e2d} \u{202e}\u{2028}\u{feff} \u{1}\u{7f}\u{1b}[31m $(x) &<>";
const LARGE: usize = 64 * 1024;

/// Exactly [`LARGE`] bytes, hostile throughout.
fn large_value() -> String {
    let mut value = String::new();
    while value.len() + HOSTILE.len() <= LARGE {
        value.push_str(HOSTILE);
    }
    value.extend(std::iter::repeat_n('$', LARGE - value.len()));
    value
}

/// In the configuration language only quotes, backslashes and line breaks need a backslash, and `${` is
/// plain text.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

async fn site_with_recorder(driver: Driver, consul: &ConsulAgent, more: &str) -> Site {
    let site = Site::with_driver_anywhere(driver).await;
    site.write("modules/pool/main.tf", RECORDER);
    let task = format!(
        "task {{\n name = \"pool\"\n module = \"./modules/pool\"\n description = {}\n \
         condition \"services\" {{\n names = [\"web\"]\n {more}\n}}\n}}\n",
        quoted("a \"b\" ${c} %{d}\\"),
    );
    site.configure(&consul.address(), Backend::Local, &task);
    site
}

#[rstest]
#[tokio::test]
async fn values_of_the_agent_and_of_the_configuration(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let user_meta = r#"cts_user_defined_meta { "note" = "a \"b\" ${c} %{d} $${e} \\ \n" }"#;
    let site = site_with_recorder(driver, &consul, user_meta).await;
    let large = large_value();
    let mut tags = vec![large.as_str(), HOSTILE, "${path.module}", ""];
    let service = json!({
        "Name": "web", "ID": "web-1", "Address": HOSTILE, "Port": 65535,
        "Meta": {"hostile": HOSTILE, "reference": "${var.services}", "empty": ""}, "Tags": tags,
    });
    consul.register(service).await;
    let cts = Instance::start(&site).await;

    let services = site.wait_for_ids("pool", &["web-1"]).await;
    let arrived = &services["web-1.cts-test.dc1"];
    tags.sort_unstable();
    assert_eq!(arrived["tags"], json!(tags));
    assert_eq!(arrived["address"], HOSTILE);
    assert_eq!(arrived["port"], 65535);
    let meta = json!({"hostile": HOSTILE, "reference": "${var.services}", "empty": ""});
    assert_eq!(arrived["meta"], meta);
    let note = "a \"b\" ${c} %{d} $${e} \\ \n";
    assert_eq!(arrived["cts_user_defined_meta"], json!({"note": note}));
    cts.api.wait_for_events("pool", 1).await;
    cts.stop().await;
}

#[rstest]
#[tokio::test]
async fn values_of_an_external_node(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let site = site_with_recorder(driver, &consul, "").await;
    let id = "web \"1\" ${x} %{x} \\ \u{e9}";
    // Consul takes no long meta value anywhere, but long addresses and tags.
    let large = large_value();
    let registration = json!({
        "Node": "outside", "Address": "203.0.113.7",
        "TaggedAddresses": {"lan": HOSTILE, "odd \"name\" ${x}": large},
        "NodeMeta": {"hostile": HOSTILE, "empty": ""},
        "Service": {"ID": id, "Service": "web", "Port": 1, "Meta": {"hostile": HOSTILE}},
    });
    consul
        .put("/v1/catalog/register", registration.to_string())
        .await;
    // Ports that no socket can have; each on a node of its own, as instances of external services are.
    for (node, port) in [("far", 70_000), ("farther", -1)] {
        let registration = json!({
            "Node": node, "Address": "203.0.113.8",
            "Service": {"ID": format!("web {node}"), "Service": "web", "Port": port},
        });
        consul
            .put("/v1/catalog/register", registration.to_string())
            .await;
    }
    let cts = Instance::start(&site).await;

    let ids = [id, "web far", "web farther"];
    let services = site.wait_for_ids("pool", &ids).await;
    assert_eq!(services["web far.far.dc1"]["port"], 70_000);
    assert_eq!(services["web farther.farther.dc1"]["port"], -1);
    let arrived: &Value = &services[format!("{id}.outside.dc1")];
    assert_eq!(arrived["address"], "203.0.113.7", "that of the node");
    assert_eq!(arrived["meta"], json!({"hostile": HOSTILE}));
    let node_meta = json!({"hostile": HOSTILE, "empty": ""});
    assert_eq!(arrived["node_meta"], node_meta);
    let addresses = json!({"lan": HOSTILE, "odd \"name\" ${x}": large});
    assert_eq!(arrived["node_tagged_addresses"], addresses);
    cts.api.wait_for_events("pool", 1).await;
    cts.stop().await;
}
