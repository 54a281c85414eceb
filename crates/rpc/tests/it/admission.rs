//! The authentication matrix: every method of reflection with every kind of credential, as docs/grpc.md shows it.

use std::collections::{BTreeMap, BTreeSet};

use cts_access::{RefusalSink, Refusals};
use cts_core::callers::{AuditRecord, Caller, CallerKind};
use cts_rpc::admission::{AccessRules, CALLER_METADATA, CallContext, METHODS, Rule};
use cts_rpc::{ClientTls, memory_transport};
use parking_lot::Mutex;
use tonic::Code;
use tonic::transport::Channel;

use crate::admission_stage::{
    ACQUIRE, CREATE, DOMAIN, Documented, HEALTH, LIST, Stage, allows, call, documented, endpoints,
    named,
};
use crate::reflected::methods;

fn service_roles() -> AccessRules {
    AccessRules {
        service_roles: true,
        domain: Some(DOMAIN.to_owned()),
        ..AccessRules::default()
    }
}

#[test]
fn roles_of_the_methods_are_those_of_the_document() {
    let rows = METHODS.iter().map(|method| {
        let (services, people) = match method.rule {
            Rule::Open => ("all".to_owned(), "all"),
            Rule::Known => ("all".to_owned(), "read"),
            Rule::Roles(_, least) => (
                method.rule.to_string(),
                least.map_or("", |role| role.as_str()),
            ),
        };
        let row = Documented {
            services: services.split(", ").map(str::to_owned).collect(),
            people: people.to_owned(),
        };
        (method.path.to_owned(), row)
    });
    assert_eq!(rows.collect::<BTreeMap<_, _>>(), documented());
}

#[tokio::test]
async fn every_method_of_reflection_has_a_row() {
    let stage = Stage::plain(AccessRules::default()).await;
    let reflected = methods(&stage.plainly()).await;
    let table: BTreeSet<String> = METHODS.iter().map(|row| row.path.to_owned()).collect();
    assert_eq!(reflected, table);
    // Every file of the protos is served here, so no service of them is missing above.
    let set =
        <prost_types::FileDescriptorSet as prost::Message>::decode(cts_proto::FILE_DESCRIPTOR_SET);
    let files = set.unwrap().file;
    let declared = files.iter().flat_map(|file| {
        let package = file.package();
        file.service
            .iter()
            .map(move |one| format!("{package}.{}", one.name()))
    });
    let served: BTreeSet<String> = endpoints()
        .names()
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(declared.collect::<BTreeSet<_>>(), served);
}

#[tokio::test]
async fn each_certificate_calls_the_methods_of_its_roles_only() {
    let stage = Stage::with_tls(service_roles()).await;
    for role in [
        "watcher",
        "scheduler",
        "worker",
        "gateway",
        "operator",
        "read",
        "approve",
        "operate",
        "admin",
        "none",
    ] {
        let channel = stage.certified(&[&named(role), "localhost"]).await;
        for (path, row) in documented() {
            let answer = call(&channel, &path, &[]).await;
            assert_eq!(
                answer.is_ok(),
                allows(&row, role),
                "{role} {path}: {answer:?}"
            );
            if let Err(status) = answer {
                assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
                let message = status.message();
                assert!(message.contains(&path[1..]), "{message}");
                assert!(message.contains("security.service_roles"), "{message}");
            }
        }
    }
    let foreign = stage.certified(&["worker.other.example"]).await;
    let refused = call(&foreign, ACQUIRE, &[]).await.unwrap_err();
    assert!(refused.message().contains("no role"), "{refused:?}");
    let several = stage
        .certified(&[&named("worker"), &named("gateway")])
        .await;
    call(&several, ACQUIRE, &[]).await.unwrap();
    call(&several, LIST, &[]).await.unwrap();
    let unknown = call(&several, "/cts.run.v1.RunService/Unheard", &[]).await;
    assert_eq!(unknown.unwrap_err().code(), Code::Unimplemented);
}

#[tokio::test]
async fn calls_of_foreign_pages_are_refused_with_and_without_switches() {
    let plain = Stage::plain(AccessRules::default()).await;
    let stage = Stage::with_tls(service_roles()).await;
    let gateway = stage.certified(&[&named("gateway"), "localhost"]).await;
    for channel in [plain.plainly(), gateway] {
        for path in [LIST, HEALTH] {
            for origin in ["https://evil.example", "null"] {
                let refused = call(&channel, path, &[("origin", origin)])
                    .await
                    .unwrap_err();
                assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
                assert!(
                    refused.message().contains("security.origins"),
                    "{refused:?}"
                );
            }
            call(&channel, path, &[]).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_renewed_certificate_counts_for_new_connections() {
    let stage = Stage::with_tls(service_roles()).await;
    let folder = stage.client(&[&named("gateway")]);
    let tls = ClientTls::load(folder.client()).await.unwrap();
    let before = stage.connect_with(&tls);
    call(&before, ACQUIRE, &[]).await.unwrap_err();
    stage.renew(&folder, &[&named("worker")]);
    assert!(tls.reload().await.unwrap());
    let after = stage.connect_with(&tls);
    call(&after, ACQUIRE, &[]).await.unwrap();
    call(&before, LIST, &[]).await.unwrap();
}

#[tokio::test]
async fn without_switches_everything_may_be_called() {
    let plain = Stage::plain(AccessRules::default()).await;
    let stage = Stage::with_tls(AccessRules::default()).await;
    let certified = stage.certified(&["localhost"]).await;
    for path in documented().into_keys() {
        call(&plain.plainly(), &path, &[]).await.unwrap();
        call(&certified, &path, &[]).await.unwrap();
    }
}

async fn caller(channel: &Channel, sent: &CallContext) -> String {
    let value = sent.to_metadata();
    let value = std::str::from_utf8(value.as_encoded_bytes())
        .unwrap()
        .to_owned();
    call(channel, LIST, &[(CALLER_METADATA, &value)])
        .await
        .unwrap()
}

#[tokio::test]
async fn only_gateways_speak_for_others() {
    let sent = CallContext {
        caller: Caller::new(CallerKind::Token, "deploy", None),
        request_id: "7".to_owned(),
    };
    let stage = Stage::with_tls(service_roles()).await;
    let gateway = stage.certified(&[&named("gateway")]).await;
    assert_eq!(caller(&gateway, &sent).await, "token \"deploy\" 7");
    let operator = stage.certified(&[&named("operator")]).await;
    let by_certificate = caller(&operator, &sent).await;
    assert!(
        by_certificate.starts_with("certificate "),
        "{by_certificate}"
    );

    let open = Stage::with_tls(AccessRules::default()).await;
    let any = open.certified(&["localhost"]).await;
    assert_eq!(caller(&any, &sent).await, "token \"deploy\" 7");
    assert!(
        call(&any, LIST, &[])
            .await
            .unwrap()
            .starts_with("certificate ")
    );

    let (listener, channel) = memory_transport();
    let rules = service_roles();
    let served = endpoints()
        .with_access(rules)
        .serve_memory(listener, std::future::pending());
    let asked = async {
        assert_eq!(call(&channel, ACQUIRE, &[]).await.unwrap(), "anonymous");
        caller(&channel, &sent).await
    };
    tokio::select! {
        ended = served => panic!("{ended:?}"),
        seen = asked => assert_eq!(seen, "token \"deploy\" 7"),
    }
}

/// Keeps what it gets.
#[derive(Default)]
struct Kept(Mutex<Vec<AuditRecord>>);

impl RefusalSink for &Kept {
    async fn record(&self, records: &[AuditRecord]) -> bool {
        self.0.lock().extend_from_slice(records);
        true
    }
}

#[tokio::test]
async fn refused_calls_are_noted() {
    let refusals = Refusals::default();
    let rules = AccessRules {
        refusals: Some(refusals.clone()),
        ..service_roles()
    };
    let stage = Stage::with_tls(rules).await;
    let watcher = stage.certified(&[&named("watcher")]).await;
    call(&watcher, CREATE, &[]).await.unwrap_err();
    call(&watcher, HEALTH, &[]).await.unwrap();
    let kept = Kept::default();
    refusals.run(&kept, std::future::ready(())).await;
    let records = kept.0.into_inner();
    let [record] = records.as_slice() else {
        panic!("{records:?}");
    };
    assert_eq!(record.target, &CREATE[1..]);
    assert_eq!(record.caller.kind, CallerKind::Certificate);
    assert!(record.outcome.reason().contains("watcher"), "{record:?}");
}
