//! Who may call what: every method of reflection with every kind of credential, as docs/grpc.md shows it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use cts_access::{Authenticator, Issuers, NewToken, RefusalSink, Refusals, TokenEntry, TokenTable};
use cts_core::SystemClock;
use cts_core::access::{AuditRecord, Caller, CallerKind, Role, TaskPatterns};
use cts_rpc::access::{AccessRules, CALLER_METADATA, CallContext, METHODS};
use cts_rpc::{ClientTls, memory_transport};
use parking_lot::Mutex;
use secrecy::ExposeSecret as _;
use tokio::sync::watch;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::access_stage::{DOMAIN, Documented, Stage, call, documented, endpoints};
use crate::reflected::methods;

const LIST: &str = "/cts.task.v1.TaskService/ListTasks";
const CREATE: &str = "/cts.task.v1.TaskService/CreateTask";
const ACQUIRE: &str = "/cts.run.v1.RunService/AcquireRun";
const HEALTH: &str = "/grpc.health.v1.Health/Check";
const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

fn service_roles() -> AccessRules {
    AccessRules {
        service_roles: true,
        domain: Some(DOMAIN.to_owned()),
        ..AccessRules::default()
    }
}

fn named(role: &str) -> String {
    format!("{role}.{DOMAIN}")
}

/// Whether the document gives a role, of services or of people, the method.
fn allows(row: &Documented, role: &str) -> bool {
    let people = ["read", "operate", "admin"];
    let rank = |role: &str| people.iter().position(|known| *known == role);
    let person = rank(role).or((role == "operator").then_some(2));
    let is_service = row
        .services
        .iter()
        .any(|known| known == role || known == "all");
    is_service || rank(&row.people).is_some_and(|least| person >= Some(least))
}

/// Tokens by name, with the authenticator that knows them.
struct Tokens {
    authenticator: Authenticator,
    tokens: Vec<(&'static str, String)>,
    _table: watch::Sender<Arc<TokenTable>>,
}

impl Tokens {
    fn new() -> Self {
        let entry = |role, tasks: &[&str], ended: bool| {
            let token = NewToken::random().unwrap();
            let tasks = tasks.iter().map(|task| (*task).to_owned()).collect();
            let entry = TokenEntry {
                name: "ci".to_owned(),
                hash: token.hash,
                role,
                tasks: TaskPatterns::new(tasks).unwrap(),
                expires_at: ended.then_some(DateTime::UNIX_EPOCH),
            };
            (entry, token.secret.expose_secret().to_owned())
        };
        let all = [
            ("read", entry(Role::Read, &[], false)),
            ("operate", entry(Role::Operate, &[], false)),
            ("admin", entry(Role::Admin, &[], false)),
            ("limited", entry(Role::Admin, &["web-*"], false)),
            ("expired", entry(Role::Admin, &[], true)),
        ];
        let table = TokenTable::new(all.iter().map(|(_, (entry, _))| entry.clone()));
        let (sender, receiver) = watch::channel(Arc::new(table));
        let mut tokens: Vec<_> = all.map(|(name, (_, token))| (name, token)).into();
        tokens.push(("unknown", "cts_nothing".to_owned()));
        Self {
            authenticator: Authenticator::new(
                receiver,
                Issuers::new(Vec::new()).unwrap(),
                Arc::new(SystemClock),
            ),
            tokens,
            _table: sender,
        }
    }

    fn get(&self, name: &str) -> String {
        let found = self.tokens.iter().find(|(known, _)| *known == name);
        format!("Bearer {}", found.unwrap().1)
    }

    fn rules(&self) -> AccessRules {
        AccessRules {
            require_auth: true,
            authenticator: Some(self.authenticator.clone()),
            ..AccessRules::default()
        }
    }
}

#[tokio::test]
async fn every_method_of_reflection_has_a_row() {
    let stage = Stage::plain(AccessRules::default()).await;
    let reflected = methods(&stage.plainly()).await;
    let table: BTreeSet<String> = METHODS.iter().map(|row| row.path.to_owned()).collect();
    assert_eq!(reflected, table);
    assert_eq!(documented().into_keys().collect::<BTreeSet<_>>(), table);
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

#[tokio::test]
async fn tokens_call_the_methods_of_their_roles() {
    let tokens = Tokens::new();
    let stage = Stage::plain(tokens.rules()).await;
    let channel = stage.plainly();
    for (path, row) in documented() {
        let (is_open, is_known) = (path.starts_with("/grpc.health."), path == REFLECTION);
        for role in ["read", "operate", "admin"] {
            let answer = call(&channel, &path, &[("authorization", &tokens.get(role))]).await;
            let allowed = is_open || is_known || allows_person(&row, role);
            assert_eq!(answer.is_ok(), allowed, "{role} {path}: {answer:?}");
            assert_code(answer, Code::PermissionDenied);
        }
        // Wrong ones are slowed down by address, which each authenticator counts by itself.
        let tokens = Tokens::new();
        let stage = Stage::plain(tokens.rules()).await;
        let channel = stage.plainly();
        for (name, code) in [
            ("limited", Code::PermissionDenied),
            ("expired", Code::Unauthenticated),
            ("unknown", Code::Unauthenticated),
        ] {
            let answer = call(&channel, &path, &[("authorization", &tokens.get(name))]).await;
            assert_eq!(answer.is_ok(), is_open, "{name} {path}: {answer:?}");
            assert_code(answer, code);
        }
        let without = call(&channel, &path, &[]).await;
        assert_eq!(without.is_ok(), is_open, "{path}");
        assert_code(without, Code::Unauthenticated);
    }
    let texts = ["unknown", "expired"].map(|name| tokens.get(name));
    let mut refused = vec![
        call(&channel, LIST, &[])
            .await
            .unwrap_err()
            .message()
            .to_owned(),
    ];
    for text in &texts {
        let status = call(&channel, LIST, &[("authorization", text)])
            .await
            .unwrap_err();
        refused.push(status.message().to_owned());
    }
    refused.dedup();
    assert_eq!(refused.len(), 1, "{refused:?}");
}

fn assert_code(answer: Result<String, Status>, expected: Code) {
    if let Err(status) = answer {
        assert_eq!(status.code(), expected, "{status:?}");
    }
}

fn allows_person(row: &Documented, role: &str) -> bool {
    let only_people = Documented {
        services: Vec::new(),
        people: row.people.clone(),
    };
    allows(&only_people, role)
}

#[tokio::test]
async fn with_both_switches_a_role_or_a_token_suffices() {
    let tokens = Tokens::new();
    let rules = AccessRules {
        service_roles: true,
        ..tokens.rules()
    };
    let stage = Stage::with_tls(rules).await;
    let nameless = stage.certified(&["localhost"]).await;
    let refused = call(&nameless, CREATE, &[]).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let admin = tokens.get("admin");
    let caller = call(&nameless, CREATE, &[("authorization", &admin)]).await;
    assert_eq!(caller.unwrap(), "token \"ci\"");
    call(&nameless, HEALTH, &[]).await.unwrap();
    call(&nameless, REFLECTION, &[]).await.unwrap();
    let gateway = stage.certified(&[&named("gateway")]).await;
    call(&gateway, CREATE, &[]).await.unwrap();

    // Any certificate of the authority suffices without roles.
    let stage = Stage::with_tls(tokens.rules()).await;
    let nameless = stage.certified(&["localhost"]).await;
    call(&nameless, ACQUIRE, &[]).await.unwrap();
    // Without a table of tokens there are none.
    let stage = Stage::plain(AccessRules {
        authenticator: None,
        ..tokens.rules()
    });
    let refused = call(&stage.await.plainly(), LIST, &[("authorization", &admin)]).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
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

    let tokens = Tokens::new();
    let plain = Stage::plain(tokens.rules()).await;
    let value = sent.to_metadata();
    let value = std::str::from_utf8(value.as_encoded_bytes())
        .unwrap()
        .to_owned();
    let headers = [
        ("authorization", &*tokens.get("read")),
        (CALLER_METADATA, &value),
    ];
    let by_token = call(&plain.plainly(), LIST, &headers).await;
    assert_eq!(by_token.unwrap(), "token \"ci\"");

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
    refusals
        .run(&kept, tokio::time::sleep(Duration::ZERO))
        .await;
    let records = kept.0.into_inner();
    let [record] = records.as_slice() else {
        panic!("{records:?}");
    };
    assert_eq!(record.target, &CREATE[1..]);
    assert_eq!(record.caller.kind, CallerKind::Certificate);
    assert!(record.outcome.reason().contains("watcher"), "{record:?}");
}
