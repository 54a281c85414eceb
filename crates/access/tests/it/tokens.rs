//! Good and wrong tokens.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cts_access::Denied;
use cts_core::Clock as _;
use cts_core::callers::{CallerKind, Role};
use cts_testkit::{IssuerDocument, OidcIssuer, SigningKey, SigningKeyKind, hmac_token};
use serde_json::{Value, json};

use crate::fixture::{Given, OTHER, P256, RSA, SKEW, settings};

#[tokio::test]
async fn tokens_of_all_algorithms_are_accepted() {
    let p384 = SigningKey::new("p384", SigningKeyKind::P384);
    let ed25519 = SigningKey::new("ed25519", SigningKeyKind::Ed25519);
    let given = Given::keys(&[&RSA, &P256, &p384, &ed25519]).await;
    let rsa = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
    let rsa = rsa.map(|algorithm| (algorithm, &*RSA));
    let others = [("ES256", &*P256), ("ES384", &p384), ("EdDSA", &ed25519)];
    for (algorithm, key) in rsa.into_iter().chain(others) {
        let token = key.token(algorithm, &given.claims());
        let principal = given.bearer(&token).await;
        let principal = principal.unwrap_or_else(|denied| panic!("{algorithm}: {denied}"));
        assert_eq!(principal.kind, CallerKind::User);
        assert_eq!(principal.name, "alice");
        assert_eq!(principal.issuer, given.issuer.url());
        assert_eq!(principal.role, Some(Role::Operate));
        assert_eq!(given.bearer(&token).await.as_ref(), Ok(&principal), "again");
    }
    assert_eq!(given.readings(), 1);
    assert_eq!(given.issuer.requests(IssuerDocument::Discovery), 1);
}

#[tokio::test]
async fn claims_that_are_wrong_are_refused() {
    let given = Given::keys(&[&P256]).await;
    let now = given.clock.now().timestamp();
    let unknown_issuer = "the issuer of the token is not known";
    let other_audience = "the token is for another audience";
    let no_time = "the token has no `exp`";
    for (claims, reason) in [
        (json!({"iss": "https://login.example"}), unknown_issuer),
        (
            json!({"iss": format!("{}/", given.issuer.url())}),
            unknown_issuer,
        ),
        (json!({"iss": [given.issuer.url()]}), unknown_issuer),
        (json!({"iss": null}), unknown_issuer),
        (json!({"aud": "https://cts.example/"}), other_audience),
        (json!({"aud": ["a", "b"]}), other_audience),
        (json!({"aud": []}), other_audience),
        (json!({"aud": null}), "the token has no `aud`"),
        (json!({"aud": 1}), "the token has no `aud`"),
        (json!({"exp": null}), no_time),
        (json!({"exp": "4000000000"}), no_time),
        (json!({"exp": -1}), no_time),
        (json!({"exp": 1e300}), no_time),
        (json!({"exp": now - 60}), "the token has expired"),
        (json!({"exp": 0}), "the token has expired"),
        (json!({"nbf": now + 61}), "the token is not valid yet"),
        (json!({"nbf": "0"}), "`nbf` of the token is no time"),
        (json!({"sub": null}), "the token names no user"),
        (json!({"sub": ""}), "the token names no user"),
    ] {
        let token = P256.token("ES256", &given.claims_with(claims));
        given.assert_refused(&token, reason).await;
    }
    for claims in [
        json!({"aud": ["x", "cts"]}),
        json!({"exp": now - 59}),
        json!({"exp": f64::from(u32::MAX) + 0.5}),
        json!({"nbf": now + 60}),
        json!({"iat": now + 600}),
    ] {
        let token = P256.token("ES256", &given.claims_with(claims.clone()));
        let answer = given.bearer(&token).await;
        assert!(answer.is_ok(), "{claims}: {answer:?}");
    }
}

#[tokio::test]
async fn a_token_that_was_accepted_ends_with_its_time() {
    let given = Given::keys(&[&P256]).await;
    let token = P256.token("ES256", &given.claims());
    given.bearer(&token).await.unwrap();
    given.clock.advance(Duration::from_secs(3599) + SKEW);
    given.bearer(&token).await.unwrap();
    given.clock.advance(Duration::from_secs(1));
    let denied = given.bearer(&token).await;
    assert_eq!(denied, Err(Denied::Expired("alice".to_owned())));
}

#[tokio::test]
async fn signatures_that_are_wrong_are_refused() {
    let given = Given::keys(&[&RSA, &P256]).await;
    let wrong = "the signature of the token is wrong";
    let no_key = "the issuer has no such key";
    let no_token = "the token is not known";
    let claims = given.claims();
    let good = P256.token("ES256", &claims);
    given.bearer(&good).await.unwrap();

    let (message, signature) = good.rsplit_once('.').unwrap();
    let [header, _] = [message.split_once('.').unwrap().0, ""];
    let admin = given.claims_with(json!({"roles": ["platform"]}));
    let admin = URL_SAFE_NO_PAD.encode(admin.to_string());
    let none = |alg: &str| {
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": alg, "kid": "p256"}).to_string());
        format!("{header}.{admin}.")
    };
    let as_if = |key: &SigningKey, algorithm: &str, id: &str| {
        key.token_with(&json!({"alg": algorithm, "kid": id}), &claims)
    };
    let confused =
        |id: &str, secret: &[u8]| hmac_token(secret, &json!({"alg": "HS256", "kid": id}), &claims);
    let own_key = json!({
        "alg": "ES256", "kid": "p256", "jwk": OTHER.jwk(),
        "jku": format!("{}/keys", given.issuer.url()), "x5u": "https://login.example/keys",
    });
    let critical = json!({"alg": "ES256", "kid": "p256", "crit": ["exp"]});
    for (token, reason) in [
        (format!("{header}.{admin}.{signature}"), wrong),
        (format!("{message}."), wrong),
        (format!("{message}.{}", &signature[..40]), wrong),
        (
            format!("{message}.{}", URL_SAFE_NO_PAD.encode([0; 64])),
            wrong,
        ),
        (none("none"), no_token),
        (none("None"), no_token),
        (none("HS256"), no_key),
        (confused("rsa", &RSA.public_pem()), no_key),
        (confused("p256", &P256.public_pem()), no_key),
        (as_if(&OTHER, "ES256", "p256"), wrong),
        (as_if(&OTHER, "ES256", "rsa"), no_key),
        (as_if(&OTHER, "ES256", "other"), no_key),
        (OTHER.token_with(&own_key, &claims), wrong),
        (
            P256.token_with(&critical, &claims),
            "the token has a critical header",
        ),
        (format!("{good}.{signature}"), no_token),
        (message.to_owned(), no_token),
        (String::new(), no_token),
        ("..".to_owned(), no_token),
        ("x".repeat(16 * 1024 + 1), no_token),
        (format!("{good} "), "the token is malformed"),
    ] {
        given.assert_refused(&token, reason).await;
    }
}

#[tokio::test]
async fn a_token_without_the_id_of_its_key_needs_a_set_with_one_such_key() {
    let given = Given::keys(&[&RSA, &P256]).await;
    let header = json!({"alg": "ES256"});
    let token = |key: &SigningKey| key.token_with(&header, &given.claims());
    given.bearer(&token(&P256)).await.unwrap();
    let wrong = "the signature of the token is wrong";
    given.assert_refused(&token(&OTHER), wrong).await;

    let given = Given::keys(&[&P256, &OTHER]).await;
    let token = P256.token_with(&header, &given.claims());
    given
        .assert_refused(&token, "the issuer has no such key")
        .await;
}

#[tokio::test]
async fn a_key_is_used_only_for_its_purpose() {
    let given = Given::keys(&[]).await;
    let with = |members: Value| {
        let mut jwk = P256.jwk();
        for (name, value) in members.as_object().unwrap() {
            jwk[name] = value.clone();
        }
        jwk
    };
    let secret = URL_SAFE_NO_PAD.encode("secret");
    given.issuer.publish_documents(vec![
        with(json!({"kid": "encrypts", "use": "enc"})),
        with(json!({"kid": "wraps", "key_ops": ["wrapKey"]})),
        with(json!({"kid": "newer", "alg": "ES256K"})),
        json!({"kty": "oct", "kid": "shared", "k": secret, "alg": "HS256"}),
        json!({"kty": "AKP", "kid": "later", "alg": "ML-DSA-44", "pub": "AAAA"}),
        json!({"kty": "EC", "crv": "secp256k1", "kid": "coin", "x": "AAAA", "y": "AAAA"}),
        json!("no key"),
        with(json!({"kid": "verifies", "key_ops": ["verify"], "alg": "ES256"})),
        RSA.jwk(),
    ]);
    let claims = given.claims();
    let token = |id: &str| P256.token_with(&json!({"alg": "ES256", "kid": id}), &claims);
    given.bearer(&token("verifies")).await.unwrap();
    for id in ["encrypts", "wraps", "newer", "shared", "later", "coin"] {
        let no_key = "the issuer has no such key";
        given.assert_refused(&token(id), no_key).await;
    }
    let header = json!({"alg": "HS256", "kid": "shared"});
    let token = hmac_token(b"secret", &header, &claims);
    given
        .assert_refused(&token, "the issuer has no such key")
        .await;
}

#[tokio::test]
async fn a_weak_key_is_refused() {
    let weak = SigningKey::new("weak", SigningKeyKind::Rsa(1024));
    let given = Given::keys(&[&weak]).await;
    let token = weak.token("RS256", &given.claims());
    let wrong = "the signature of the token is wrong";
    given.assert_refused(&token, wrong).await;
}

#[tokio::test]
async fn an_issuer_speaks_for_itself_only() {
    let other = OidcIssuer::start().await;
    other.publish(&[&OTHER]);
    let own = OidcIssuer::start().await;
    own.publish(&[&P256]);
    let all = [own.url(), other.url()].map(settings).into();
    let given = Given::with(own, all);
    let named = given.claims_with(json!({"iss": other.url()}));
    given.bearer(&OTHER.token("ES256", &named)).await.unwrap();
    let no_key = "the issuer has no such key";
    let forged = OTHER.token("ES256", &given.claims());
    given.assert_refused(&forged, no_key).await;
    let forged = P256.token("ES256", &named);
    given.assert_refused(&forged, no_key).await;
}
