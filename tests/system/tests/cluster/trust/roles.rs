//! Services that may call only the methods of their roles, with certificates of `cts certs`.

use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::{AcquireRunRequest, CancelRunRequest, GetQueueRequest};
use cts_rpc::{ClientTls, ClientTlsFiles, IdentityFiles};
use cts_testkit::{assert_contains, free_port};
use cts_tests::{Plan, Service, Site};
use tonic::Code;
use tonic::transport::Channel;

use crate::cluster::scene::Scene;

/// The configuration of a service with the certificate of this role.
pub(crate) fn file(role: &str) -> String {
    format!(
        "services {{\n  tls {{\n    ca_cert = \"tls/ca.pem\"\n    cert = \"tls/{role}.pem\"\n    \
         key = \"tls/{role}-key.pem\"\n  }}\n}}\n\
         security {{\n  service_roles = true\n  domain = \"cts.example\"\n}}\n"
    )
}

/// The plan of a cluster each of whose services has the certificate of its role.
pub(crate) async fn plan(site: &Site) -> Plan {
    let arguments = ["certs", "-dir=tls", "-domain=cts.example", "-local"];
    let exit = site.run("cts", &arguments, "certs.log").wait().await;
    exit.assert_code(0);
    with_certificates(site).await
}

/// The plan of a cluster over the certificates in `tls`.
pub(crate) async fn with_certificates(site: &Site) -> Plan {
    let mut plan = Plan::of(1, 1, 1, 1);
    for service in Service::ALL {
        let name = format!("of-{service}.hcl");
        site.write(&name, &file(&service.to_string()));
        plan = plan.with_file(Some(service), &name);
    }
    site.write("of-operator.hcl", &file("operator"));
    plan.tls = Some(of_role(site, "operator").await);
    plan
}

/// The certificate of this role.
pub(crate) async fn of_role(site: &Site, role: &str) -> ClientTls {
    let path = |name: &str| site.path().join("tls").join(name);
    let files = ClientTlsFiles {
        ca_cert: path("ca.pem"),
        identity: Some(IdentityFiles {
            cert: path(&format!("{role}.pem")),
            key: path(&format!("{role}-key.pem")),
        }),
        server_name: None,
    };
    ClientTls::load(files).await.unwrap()
}

#[tokio::test]
async fn services_with_certificates_of_their_roles_apply_changes() {
    let site = Site::new();
    let plan = plan(&site).await;
    let mut scene = Scene::start_at(site, plan).await;
    scene.change_is_applied().await;

    let command = ["workers", "list", "-config-file=of-operator.hcl"];
    scene.cluster.command(&command).await.assert_code(0);
    let command = ["workers", "list", "-config-file=of-watcher.hcl"];
    let exit = scene.cluster.command(&command).await;
    exit.assert_code(11).says(["security.service_roles"]);

    let scheduler = scene.cluster.grpc_address(Service::Scheduler, 0);
    let address = scheduler.parse().unwrap();
    let connect = async |role| {
        let tls = of_role(&scene.site, role).await;
        RunServiceClient::<Channel>::new(cts_rpc::connect_tls(&address, &tls))
    };
    let mut worker = connect("worker").await;
    let refused = worker.cancel_run(CancelRunRequest::default()).await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    let mut gateway = connect("gateway").await;
    gateway.get_queue(GetQueueRequest {}).await.unwrap();
    let refused = gateway.acquire_run(AcquireRunRequest::default()).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_contains(
        refused.message(),
        ["cts.run.v1.RunService/AcquireRun", "worker", "gateway"],
    );
    let output = scene.cluster.output(Service::Scheduler, 0);
    assert_contains(&output, ["a gRPC call is refused"]);
    assert!(!output.contains("every certificate of the services' authority"));
    scene.settled_events().await;
    scene.assert_each_step_once();
}

#[tokio::test]
async fn a_service_that_cannot_tell_its_callers_apart_does_not_start() {
    let site = Site::new();
    let base = "working_dir = \"work\"\nconsul { address = \"127.0.0.1:1\" }\n\
                driver \"terraform\" { backend \"consul\" {} }\n\
                database { url = \"postgres://cts@127.0.0.1:1/cts\" }\n";
    site.write("cts.hcl", base);
    site.write("roles.hcl", "security { service_roles = true }\n");
    site.write("servers.hcl", "security { server_roles = true }\n");
    site.write("auth.hcl", "security { require_auth = true }\n");
    let here = format!("-grpc-address=127.0.0.1:{}", free_port());
    for (command, file, key) in [
        ("watcher", "roles.hcl", "security.service_roles = true"),
        ("scheduler", "roles.hcl", "security.service_roles = true"),
        ("worker", "auth.hcl", "security.require_auth = true"),
        ("worker", "servers.hcl", "security.server_roles = true"),
        ("gateway", "auth.hcl", "security.require_auth = true"),
        ("start", "roles.hcl", "security.service_roles = true"),
    ] {
        let file = format!("-config-file={file}");
        let arguments = [command, "-config-file=cts.hcl", &file, &here];
        let exit = site.run("cts", &arguments, "refused.log").wait().await;
        exit.assert_code(15)
            .says([key, "services.tls", "verify_incoming = true"]);
    }
}
