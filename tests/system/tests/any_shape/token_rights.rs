//! A token that may read one service and not another: Consul shows the other one as empty.

use cts_testkit::{ConsulAgent, access_control};
use cts_tests::{Backend, Instance, Site, task};

const TOKEN: &str = "4be0d3a1-70c2-4f5d-9d0e-5a8b1c6e2f47";

#[tokio::test]
async fn warns_once_about_a_view_that_a_token_does_not_show() {
    let consul = ConsulAgent::start_with(access_control()).await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    consul.register_service("api", "api-1", 2, &[], &[]).await;
    let rules = r#"service "api" { policy = "deny" }"#;
    consul.make_token(TOKEN, rules).await;
    let mut site = Site::new();
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web", "api"], "");
    site.configure(&consul.address(), Backend::Shared, &pool);
    site.set_environment("CONSUL_HTTP_TOKEN", TOKEN);
    let cts = Instance::start(&site).await;
    site.wait_for_step("pool", "end", "web-1").await;
    cts.api.wait_for_events("pool", 1).await;

    consul.register_service("web", "web-2", 3, &[], &[]).await;
    site.wait_for_step("pool", "end", "web-1,web-2").await;
    let log = cts.output();
    let warnings = log.lines().filter(|line| line.contains("[WARN]"));
    let warnings: Vec<_> = warnings.filter(|line| line.contains("view.id=")).collect();
    let [warning] = warnings.as_slice() else {
        panic!("{warnings:#?}");
    };
    assert!(
        warning.contains("health.service(api)") && warning.contains("service:read"),
        "{warning}"
    );
    cts.stop().await;
}
