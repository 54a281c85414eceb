//! Settings of workspaces: agents, the version of Terraform, and variables that a person has made.

use cts_testkit::hcp::Phase;
use cts_tests::{RECORDER, task};
use serde_json::json;

use super::stage::{Stage, WORKSPACE};

/// The task with this in its block for the workspace.
fn edge(workspace: &str) -> String {
    let more = format!("terraform_cloud_workspace {{\n  {workspace}\n}}");
    task("edge", "./modules/edge", &["web"], &more)
}

async fn error_of_first_event(stage: &Stage) -> String {
    let cts = stage.start().await;
    let events = cts.api.wait_for_events("edge", 1).await;
    let message = events[0]["error"]["message"].as_str().unwrap_or_default();
    let message = message.to_owned();
    cts.stop().await;
    message
}

#[tokio::test]
async fn a_task_runs_on_the_agents_of_its_pool() {
    let stage = Stage::new().await;
    let pool = stage.server.add_agent_pool("inside", 0);
    stage.server.add_agent_pool("inside-2", 1);
    let agents = edge("execution_mode = \"agent\"\n  agent_pool_name = \"inside\"");
    stage.configure_tasks("", &agents);
    stage.register("web-1").await;
    let cts = stage.start().await;
    stage.reached(Phase::PlanQueued).await;
    stage.server.set_agents("inside", 1);
    stage.recorded(&["web-1"]).await;
    let workspace = stage.server.workspace(WORKSPACE);
    assert_eq!(workspace["attributes"]["execution-mode"], "agent");
    let found = &workspace["relationships"]["agent-pool"]["data"]["id"];
    assert_eq!(found, &json!(pool), "{workspace}");
    cts.api.wait_for_events("edge", 1).await;
    cts.stop().await;

    // Back to the machines of the server.
    stage.configure("");
    let cts = stage.start().await;
    stage.register("web-2").await;
    stage.recorded(&["web-1", "web-2"]).await;
    let workspace = stage.server.workspace(WORKSPACE);
    assert_eq!(workspace["attributes"]["execution-mode"], "remote");
    cts.stop().await;
}

/// The agents of the pool are away, so that the configuration is uploaded and nothing fetches module and provider.
#[tokio::test]
async fn a_module_of_a_registry_and_a_provider_reach_the_server_as_they_are() {
    let stage = Stage::new().await;
    stage.server.add_agent_pool("inside", 0);
    let more = "version = \"1.2.3\"\n  providers = [\"fw\"]\n  terraform_cloud_workspace {\n  execution_mode = \"agent\"\n  \
                agent_pool_name = \"inside\"\n}";
    let edge = task("edge", "registry.example/acme/pool/cts", &["web"], more);
    let provider = "terraform_provider \"fw\" {\n  secret = \"of-the-provider\"\n}\n";
    stage.configure_tasks(
        "required_providers {\n  fw = { source = \"acme/fw\" }\n}",
        &format!("{provider}{edge}"),
    );
    stage.register("web-1").await;
    let cts = stage.start().await;
    stage.reached(Phase::PlanQueued).await;
    let configuration = stage.server.configurations(WORKSPACE).remove(0);
    let files = stage.server.configuration_files(&configuration);
    let main = files["main.tf"]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let block = "source = \"registry.example/acme/pool/cts\" version = \"1.2.3\"";
    assert!(main.contains(block), "{main}");
    let text = format!("{files:?}");
    assert!(!text.contains("of-the-provider"), "{text}");
    let variables = stage.server.variables(WORKSPACE);
    let provider = variables.iter().find(|variable| variable.key == "fw");
    assert!(provider.unwrap().sensitive, "{variables:?}");
    cts.stop().await;
}

#[tokio::test]
async fn a_pool_that_does_not_exist_is_named() {
    let stage = Stage::new().await;
    stage.server.add_agent_pool("inside-2", 1);
    let agents = edge("execution_mode = \"agent\"\n  agent_pool_name = \"inside\"");
    stage.configure_tasks("", &agents);
    stage.register("web-1").await;
    let message = error_of_first_event(&stage).await;
    assert!(message.contains("\"inside\""), "{message}");
    assert!(stage.server.workspaces().is_empty());
}

/// A stage whose server knows these versions, with a workspace that has `current`.
async fn stage_with_version(current: &str, versions: &[&str]) -> Stage {
    let versions = versions.iter().map(|version| (*version).to_owned());
    let versions: Vec<String> = versions.collect();
    let stage = Stage::with(|settings| settings.terraform_versions = versions).await;
    let attributes = json!({ "terraform-version": current, "execution-mode": "remote" });
    stage.server.create_workspace(WORKSPACE, attributes);
    stage
        .server
        .update_workspace(WORKSPACE, json!({ "auto-apply": true }));
    stage.server.tag(WORKSPACE, "source:cts");
    stage
}

#[tokio::test]
async fn a_pre_release_becomes_its_release_with_a_warning() {
    let stage = stage_with_version("1.14.0-rc1", &["1.14.0-rc1", "1.14.0"]).await;
    stage.configure("");
    let cts = stage.start().await;
    stage.register("web-1").await;
    stage.recorded(&["web-1"]).await;
    let workspace = stage.server.workspace(WORKSPACE);
    assert_eq!(workspace["attributes"]["terraform-version"], "1.14.0");
    let output = cts.output();
    let warned = output.lines().filter(|line| {
        line.contains("[WARN]") && line.contains("1.14.0-rc1") && line.contains("version=1.14.0")
    });
    assert_eq!(warned.count(), 1, "{output}");
    cts.stop().await;
}

#[tokio::test]
async fn the_error_about_a_version_that_a_server_refuses_names_it() {
    let stage = stage_with_version("1.14.0-rc1", &["1.14.0-rc1", "1.14.3"]).await;
    stage.configure("");
    stage.register("web-1").await;
    let message = error_of_first_event(&stage).await;
    for text in ["1.14.0 in place of 1.14.0-rc1", "`terraform_version`"] {
        assert!(message.contains(text), "{message}");
    }
    assert!(stage.runs().is_empty(), "{:?}", stage.runs());
}

#[tokio::test]
async fn sensitive_variables_of_a_person_get_the_values_of_the_task() {
    let stage = Stage::with_workspace(true).await;
    let module = format!(
        "{RECORDER}\nvariable \"region\" {{\n  type = string\n}}\n\noutput \"region\" {{\n  \
         value = nonsensitive(var.region)\n}}\n"
    );
    stage.site.write("modules/edge/main.tf", &module);
    let secret = || json!({ "value": "\"none\"", "hcl": true, "sensitive": true });
    stage.server.set_variable(WORKSPACE, "services", secret());
    stage.server.set_variable(WORKSPACE, "region", secret());
    stage.site.write("edge.tfvars", "region = \"eu\"\n");
    let edge = task(
        "edge",
        "./modules/edge",
        &["web"],
        "variable_files = [\"edge.tfvars\"]",
    );
    stage.configure_tasks("", &edge);
    let cts = stage.start().await;
    stage.recorded(&["web-1"]).await;
    let events = cts.api.wait_for_events("edge", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    let variables = stage.server.variables(WORKSPACE);
    let value = |key: &str| {
        let found = variables.iter().find(|variable| variable.key == key);
        found.unwrap().value.clone()
    };
    assert!(value("services").contains("web-1"), "{variables:?}");
    assert_eq!(value("region").trim(), "\"eu\"", "{variables:?}");
    cts.stop().await;
}
