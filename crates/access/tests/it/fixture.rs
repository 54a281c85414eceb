//! An issuer, and an authenticator that accepts its tokens.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use cts_access::{Authenticator, Denied, IssuerSettings, Issuers, Principal, TokenTable};
use cts_core::Clock as _;
use cts_core::callers::Role;
use cts_testkit::{IssuerDocument, ManualClock, OidcIssuer, SigningKey, SigningKeyKind};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) const AUDIENCE: &str = "https://cts.example";
pub(crate) const SKEW: Duration = Duration::from_mins(1);

pub(crate) static RSA: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::new("rsa", SigningKeyKind::Rsa(2048)));
pub(crate) static P256: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::new("p256", SigningKeyKind::P256));
pub(crate) static OTHER: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::new("other", SigningKeyKind::P256));

pub(crate) struct Given {
    pub(crate) issuer: OidcIssuer,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) issuers: Issuers,
    authenticator: Authenticator,
    following: JoinSet<()>,
}

impl Given {
    /// An issuer over HTTP with these keys.
    pub(crate) async fn keys(keys: &[&SigningKey]) -> Self {
        let issuer = OidcIssuer::start().await;
        issuer.publish(keys);
        Self::of(issuer, None)
    }

    /// A program that accepts this issuer.
    pub(crate) fn of(issuer: OidcIssuer, ca_cert: Option<PathBuf>) -> Self {
        let settings = IssuerSettings {
            ca_cert,
            ..settings(issuer.url())
        };
        Self::with(issuer, vec![settings])
    }

    /// A program with these settings.
    pub(crate) fn with(issuer: OidcIssuer, settings: Vec<IssuerSettings>) -> Self {
        let issuers = Issuers::new(settings).unwrap();
        let clock = Arc::new(ManualClock::default());
        let (_tokens, table) = watch::channel(Arc::new(TokenTable::default()));
        let authenticator =
            Authenticator::new(table, issuers.clone(), Arc::<ManualClock>::clone(&clock));
        let mut following = JoinSet::new();
        let followed = issuers.clone();
        following.spawn(async move { followed.follow(std::future::pending()).await });
        Self {
            issuer,
            clock,
            issuers,
            authenticator,
            following,
        }
    }

    /// Claims of a good token.
    pub(crate) fn claims(&self) -> Value {
        let now = self.clock.now().timestamp();
        json!({
            "iss": self.issuer.url(),
            "aud": AUDIENCE,
            "sub": "alice",
            "exp": now + 3600,
            "iat": now,
            "roles": ["ops"],
        })
    }

    /// Claims of a good token with others in place of some; `null` takes one away.
    pub(crate) fn claims_with(&self, others: Value) -> Value {
        let mut claims = self.claims();
        let (Value::Object(claims_of_token), Value::Object(others)) = (&mut claims, others) else {
            panic!("claims are an object");
        };
        for (name, value) in others {
            if value.is_null() {
                claims_of_token.remove(&name);
            } else {
                claims_of_token.insert(name, value);
            }
        }
        claims
    }

    pub(crate) async fn bearer(&self, token: &str) -> Result<Arc<Principal>, Denied> {
        self.authenticator.bearer(token).await
    }

    /// Asserts that the token is refused for this reason, and that the reason has nothing of the token.
    pub(crate) async fn assert_refused(&self, token: &str, reason: &str) {
        let denied = self.bearer(token).await.unwrap_err();
        assert_eq!(denied.to_string(), reason, "{token}");
        let debug = format!("{denied:?}");
        for part in token.split('.').filter(|part| !part.is_empty()) {
            assert!(!debug.contains(part), "{debug}");
        }
        assert!(!debug.contains("alice"), "{debug}");
    }

    /// How often the keys were read.
    pub(crate) fn readings(&self) -> usize {
        self.issuer.requests(IssuerDocument::Keys)
    }

    /// Ends the reading of keys.
    pub(crate) async fn stop_following(&mut self) {
        self.following.shutdown().await;
    }
}

pub(crate) fn settings(issuer: &str) -> IssuerSettings {
    let roles = [("ops", Role::Operate), ("platform", Role::Admin)];
    IssuerSettings {
        issuer: issuer.to_owned(),
        audience: vec![AUDIENCE.to_owned(), "cts".to_owned()],
        name_claim: "sub".to_owned(),
        role_claim: "roles".to_owned(),
        roles: roles.map(|(value, role)| (value.to_owned(), role)).into(),
        clock_skew: SKEW,
        ca_cert: None,
    }
}

/// Moves the clock of pauses and ages.
pub(crate) async fn pass(duration: Duration) {
    tokio::time::pause();
    tokio::time::advance(duration).await;
    tokio::time::resume();
}
