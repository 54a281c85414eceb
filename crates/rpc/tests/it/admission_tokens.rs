//! Tokens for gRPC: every method of reflection with every kind of token, as docs/grpc.md shows it.

use std::sync::Arc;

use chrono::DateTime;
use cts_access::{Authenticator, Issuers, NewToken, TokenEntry, TokenTable};
use cts_core::callers::{Caller, CallerKind, PlanValues, Role, TaskPatterns};
use cts_rpc::admission::{AccessRules, CALLER_METADATA, CallContext};
use cts_runtime::SystemClock;
use secrecy::ExposeSecret as _;
use tokio::sync::watch;
use tonic::{Code, Status};

use crate::admission_stage::{
    ACQUIRE, CREATE, Documented, HEALTH, LIST, REFLECTION, Stage, WATCH_HEALTH, allows, call,
    documented, named,
};

/// Tokens by name, with the authenticator that knows them.
struct Tokens {
    authenticator: Authenticator,
    by_name: Vec<(&'static str, String)>,
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
            ("approve", entry(Role::Approve, &[], false)),
            ("operate", entry(Role::Operate, &[], false)),
            ("operate,approve", entry(Role::OperateApprove, &[], false)),
            ("admin", entry(Role::Admin, &[], false)),
            ("limited", entry(Role::Admin, &["web-*"], false)),
            ("expired", entry(Role::Admin, &[], true)),
        ];
        let table = TokenTable::new(all.iter().map(|(_, (entry, _))| entry.clone()));
        let (sender, receiver) = watch::channel(Arc::new(table));
        let mut by_name: Vec<_> = all.map(|(name, (_, token))| (name, token)).into();
        by_name.push(("unknown", "cts_nothing".to_owned()));
        Self {
            authenticator: Authenticator::new(
                receiver,
                Issuers::new(Vec::new()).unwrap(),
                Arc::new(SystemClock),
            ),
            by_name,
            _table: sender,
        }
    }

    fn get(&self, name: &str) -> String {
        let found = self.by_name.iter().find(|(known, _)| *known == name);
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
async fn tokens_call_the_methods_of_their_roles() {
    let tokens = Tokens::new();
    let stage = Stage::plain(tokens.rules()).await;
    let channel = stage.plainly();
    for (path, row) in documented() {
        let is_open = path == HEALTH;
        let is_known = path == REFLECTION || path == WATCH_HEALTH;
        for role in ["read", "approve", "operate", "operate,approve", "admin"] {
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

#[tokio::test]
async fn values_of_plans_need_more_than_reading_if_the_setting_says_so() {
    let tokens = Tokens::new();
    let rules = AccessRules {
        plan_values: PlanValues::Operate,
        ..tokens.rules()
    };
    let stage = Stage::plain(rules.clone()).await;
    let channel = stage.plainly();
    for (role, caller) in [
        ("read", "token \"ci\" without values"),
        ("approve", "token \"ci\""),
        ("operate", "token \"ci\""),
        ("admin", "token \"ci\""),
    ] {
        let answer = call(&channel, LIST, &[("authorization", &tokens.get(role))]).await;
        assert_eq!(answer.unwrap(), caller, "{role}");
    }
    let stage = Stage::with_tls(AccessRules {
        service_roles: true,
        ..rules
    })
    .await;
    for (role, hides) in [
        ("read", true),
        ("approve", false),
        ("operator", false),
        ("gateway", false),
    ] {
        let channel = stage.certified(&[&named(role)]).await;
        let caller = call(&channel, LIST, &[]).await.unwrap();
        assert_eq!(caller.ends_with(" without values"), hides, "{caller}");
    }
}

#[tokio::test]
async fn a_token_speaks_for_its_owner_only() {
    let tokens = Tokens::new();
    let stage = Stage::plain(tokens.rules()).await;
    let other = CallContext::of(Caller::new(CallerKind::Token, "deploy", None));
    let value = other.to_metadata();
    let value = std::str::from_utf8(value.as_encoded_bytes()).unwrap();
    let token = tokens.get("read");
    let headers = [("authorization", &*token), (CALLER_METADATA, value)];
    let caller = call(&stage.plainly(), LIST, &headers).await;
    assert_eq!(caller.unwrap(), "token \"ci\"");
}
