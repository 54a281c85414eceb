//! The role and the name of a user.

use cts_access::IssuerSettings;
use cts_core::callers::Role;
use cts_testkit::OidcIssuer;
use serde_json::json;

use crate::fixture::{Given, P256, settings};

#[tokio::test]
async fn a_claim_gives_a_role() {
    for (claim, claims, role) in [
        ("roles", json!({"roles": "ops"}), Some(Role::Operate)),
        (
            "roles",
            json!({"roles": ["x", "ops", "platform"]}),
            Some(Role::Admin),
        ),
        ("roles", json!({"roles": ["Platform", 1, null]}), None),
        ("roles", json!({"roles": "platform ops"}), None),
        ("roles", json!({"roles": {"platform": true}}), None),
        ("roles", json!({"roles": null}), None),
        ("scope", json!({"scope": "openid ops"}), Some(Role::Operate)),
        (
            "realm.roles",
            json!({"realm": {"roles": ["ops"]}}),
            Some(Role::Operate),
        ),
        (
            "https://cts.example/roles",
            json!({"https://cts.example/roles": ["ops"]}),
            Some(Role::Operate),
        ),
    ] {
        let issuer = OidcIssuer::start().await;
        issuer.publish(&[&P256]);
        let settings = IssuerSettings {
            role_claim: claim.to_owned(),
            ..settings(issuer.url())
        };
        let given = Given::with(issuer, vec![settings]);
        let token = P256.token("ES256", &given.claims_with(claims.clone()));
        let principal = given.bearer(&token).await.unwrap();
        assert_eq!(principal.role, role, "{claim}: {claims}");
    }
}

#[tokio::test]
async fn a_claim_names_the_user() {
    let issuer = OidcIssuer::start().await;
    issuer.publish(&[&P256]);
    let settings = IssuerSettings {
        name_claim: "email".to_owned(),
        ..settings(issuer.url())
    };
    let given = Given::with(issuer, vec![settings]);
    let long = "x".repeat(10_000);
    for (email, name) in [
        (json!("a@cts.example"), "a@cts.example".to_owned()),
        (json!(1), "alice".to_owned()),
        (json!(""), "alice".to_owned()),
        (json!("a\nb"), "a\\nb".to_owned()),
        (json!(long), format!("{}…", "x".repeat(256))),
    ] {
        let token = P256.token("ES256", &given.claims_with(json!({"email": email})));
        assert_eq!(given.bearer(&token).await.unwrap().name, name);
    }
}
