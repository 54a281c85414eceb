//! Keys that change.

use std::time::Duration;

use cts_testkit::{SigningKey, SigningKeyKind, eventually};
use futures::future::{FutureExt as _, join_all};
use serde_json::json;

use crate::fixture::{Given, OTHER, P256, pass};

const DEADLINE: Duration = Duration::from_secs(20);
const NO_KEY: &str = "the issuer has no such key";

#[tokio::test]
async fn a_new_key_is_found_at_once() {
    let given = Given::keys(&[&P256]).await;
    let old = P256.token("ES256", &given.claims());
    given.bearer(&old).await.unwrap();
    pass(Duration::from_secs(11)).await;
    given.issuer.publish(&[&P256, &OTHER]);
    let new = OTHER.token("ES256", &given.claims());
    given.bearer(&new).await.unwrap();
    given.bearer(&old).await.unwrap();
    assert_eq!(given.readings(), 2);
}

#[tokio::test]
async fn a_removed_key_stops_with_the_next_reading() {
    let given = Given::keys(&[&P256, &OTHER]).await;
    let token = P256.token("ES256", &given.claims());
    given.bearer(&token).await.unwrap();
    given.issuer.publish(&[&OTHER]);
    given.bearer(&token).await.unwrap();
    pass(Duration::from_secs(301)).await;
    let refused = async || given.bearer(&token).await.err().ok_or("accepted");
    let denied = eventually(DEADLINE, refused).await;
    assert_eq!(denied.to_string(), NO_KEY);
    assert_eq!(given.readings(), 2);
    let other = OTHER.token("ES256", &given.claims());
    given.bearer(&other).await.unwrap();

    given.issuer.publish(&[]);
    pass(Duration::from_secs(301)).await;
    let refused = async || given.bearer(&other).await.err().ok_or("accepted");
    assert_eq!(eventually(DEADLINE, refused).await.to_string(), NO_KEY);
}

/// An issuer that gives a new key the id of the old one is found out with the next reading.
#[tokio::test]
async fn another_key_with_the_same_id_takes_its_place() {
    let given = Given::keys(&[&P256]).await;
    let token = P256.token("ES256", &given.claims());
    given.bearer(&token).await.unwrap();
    let other = SigningKey::new("p256", SigningKeyKind::P256);
    given.issuer.publish(&[&other]);
    pass(Duration::from_secs(301)).await;
    let refused = async || given.bearer(&token).await.err().ok_or("accepted");
    let denied = eventually(DEADLINE, refused).await;
    assert_eq!(denied.to_string(), "the signature of the token is wrong");
    let token = other.token("ES256", &given.claims());
    given.bearer(&token).await.unwrap();
}

#[tokio::test]
async fn unknown_keys_cause_one_reading_in_ten_seconds() {
    let given = Given::keys(&[&P256]).await;
    let good = P256.token("ES256", &given.claims());
    let unknown = |round: usize| {
        let claims = given.claims();
        (0..50).map(move |place| {
            let header = json!({"alg": "ES256", "kid": format!("{round}-{place}")});
            OTHER.token_with(&header, &claims)
        })
    };
    given.bearer(&good).await.unwrap();
    for round in 0..3 {
        let tokens: Vec<String> = unknown(round).collect();
        let all = async || {
            for answer in join_all(tokens.iter().map(|token| given.bearer(token))).await {
                assert_eq!(answer.unwrap_err().to_string(), NO_KEY);
            }
        };
        all().await;
        // The last reading is only a moment ago.
        assert_eq!(given.readings(), 1 + round);
        pass(Duration::from_secs(10)).await;
        all().await;
        assert_eq!(given.readings(), 2 + round);
    }
    given.bearer(&good).await.unwrap();
}

/// Callers that go away interrupt no reading.
#[tokio::test]
async fn a_caller_that_goes_away_keeps_no_new_key_from_others() {
    let given = Given::keys(&[&P256]).await;
    let good = P256.token("ES256", &given.claims());
    given.bearer(&good).await.unwrap();
    pass(Duration::from_secs(11)).await;
    given.issuer.publish(&[&OTHER]);
    let new = OTHER.token("ES256", &given.claims());
    assert!(given.bearer(&new).now_or_never().is_none());
    given.bearer(&new).await.unwrap();
    assert_eq!(given.readings(), 2);
}
