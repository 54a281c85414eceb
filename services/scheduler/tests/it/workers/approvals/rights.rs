//! Rights that calls need besides the role for their method, where only some callers see values.

use std::future::pending;
use std::path::Path;

use cts_core::callers::{INPUTS_HIDDEN, PlanValues, VALUES_HIDDEN};
use cts_listen::{ClientLimit, ClientLimiter};
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::log::v1::{ReadLogRequest, ReadLogWindowRequest, SearchLogRequest};
use cts_proto::run::v1 as run;
use cts_proto::run::v1::GetInputRequest;
use cts_proto::run::v1::plan_service_client::PlanServiceClient;
use cts_proto::run::v1::planned_value::Value;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::RunMode;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_rpc::admission::AccessRules;
use cts_rpc::connect_tls;
use cts_rpc::{ClientTls, ClientTlsFiles, Endpoints, IdentityFiles, ServerTls, TlsFiles};
use cts_testkit::Authority;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::Channel;

use super::inspections::{disabled, inspects};
use super::{RED, destroys};

/// A listener that knows the roles of certificates, and clients with these roles.
async fn clients<const N: usize>(
    endpoints: &Endpoints,
    directory: &Path,
    serving: &mut JoinSet<()>,
    roles: [&str; N],
) -> [Channel; N] {
    let authority = Authority::new();
    let ca_cert = directory.join("ca.pem");
    std::fs::write(&ca_cert, authority.pem()).unwrap();
    let names = ["scheduler.cts.example", "127.0.0.1"];
    let files = authority.write_pair(directory, "scheduler", &names);
    let files = TlsFiles {
        ca_cert: ca_cert.clone(),
        cert: files.cert,
        key: files.key,
        server_name: None,
        verify_incoming: true,
    };
    let tls = ServerTls::load(&files).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let endpoints = endpoints.clone().with_access(AccessRules {
        service_roles: true,
        domain: Some("cts.example".to_owned()),
        plan_values: PlanValues::Operate,
        ..AccessRules::default()
    });
    let limiter = ClientLimiter::new(ClientLimit {
        total: N,
        per_client: N,
    });
    serving.spawn(async move {
        let served = endpoints.serve_tls(listener, limiter, tls, pending());
        served.await.unwrap();
    });
    let mut channels = Vec::new();
    for role in roles {
        let name = format!("{role}.cts.example");
        let files = authority.write_pair(directory, role, &[&*name]);
        let identity = IdentityFiles {
            cert: files.cert,
            key: files.key,
        };
        let tls = ClientTls::load(ClientTlsFiles {
            ca_cert: ca_cert.clone(),
            identity: Some(identity),
            server_name: None,
        });
        channels.push(connect_tls(&address.parse().unwrap(), &tls.await.unwrap()));
    }
    channels.try_into().unwrap()
}

#[tokio::test]
async fn callers_without_the_right_see_no_values_and_approve_nothing() {
    let setup = disabled().await;
    let plan = destroys(RED);
    let (inspected, id) = tokio::join!(
        setup.update("t", Some(true), RunMode::Inspect),
        inspects(&setup, &plan),
    );
    inspected.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut serving = JoinSet::new();
    let roles = ["read", "operate"];
    let [reads, operates] = clients(&setup.endpoints, directory.path(), &mut serving, roles).await;

    let request = run::GetRunRequest {
        run_id: id.clone(),
        ..run::GetRunRequest::default()
    };
    for (channel, text) in [(&reads, VALUES_HIDDEN), (&operates, "text")] {
        let mut runs = RunServiceClient::new(channel.clone());
        let answer = runs.get_run(request.clone()).await.unwrap().into_inner();
        assert_eq!(answer.run.unwrap().plan.unwrap().text, text);
    }
    let request = ReadLogRequest {
        run_id: id.clone(),
        ..ReadLogRequest::default()
    };
    let mut logs = LogServiceClient::new(reads.clone());
    let refused = logs.read_log(request.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let window = ReadLogWindowRequest {
        run_id: id.clone(),
        ..ReadLogWindowRequest::default()
    };
    let refused = logs.read_log_window(window.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let search = SearchLogRequest {
        run_id: id.clone(),
        text: "x".into(),
        ..SearchLogRequest::default()
    };
    let refused = logs.search_log(search.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let mut logs = LogServiceClient::new(operates.clone());
    logs.read_log(request).await.unwrap();
    logs.read_log_window(window).await.unwrap();
    logs.search_log(search).await.unwrap();
    for (channel, is_hidden) in [(reads, true), (operates.clone(), false)] {
        let request = run::GetPlanRequest {
            run_id: id.clone(),
            without_values: false,
        };
        let mut plans = PlanServiceClient::new(channel);
        let input = GetInputRequest {
            run_id: id.clone(),
            without_values: false,
        };
        let input = plans.get_input(input).await.unwrap().into_inner().input;
        let reason = if is_hidden { INPUTS_HIDDEN } else { "" };
        assert_eq!(input.unwrap().values_hidden, reason);
        let mut parts = plans.get_plan(request).await.unwrap().into_inner();
        let mut values = Vec::new();
        while let Some(answer) = parts.message().await.unwrap() {
            let changes = answer.part.unwrap().changes.into_iter();
            let attributes = changes.flat_map(|change| change.attributes);
            values.extend(attributes.filter_map(|it| it.before?.value));
        }
        let value = if is_hidden {
            Value::Hidden(true)
        } else {
            Value::Json("1".into())
        };
        assert_eq!(values, [value]);
    }
    let request = proto::UpdateTaskRequest {
        name: "t".into(),
        enabled: Some(true),
        run_mode: RunMode::Now.into(),
        approve: RED.into(),
        idempotency_key: String::new(),
    };
    let refused = TaskServiceClient::new(operates).update_task(request).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert!(refused.message().contains("approve"), "{refused:?}");
}
