//! Issuers that are away.

use std::time::Duration;

use cts_access::Issuers;
use cts_testkit::{IssuerDocument, IssuerFault, OidcIssuer, eventually};

use crate::fixture::{Given, OTHER, P256, pass};

const DEADLINE: Duration = Duration::from_secs(20);
const NO_KEY: &str = "the issuer has no such key";

#[tokio::test]
async fn an_issuer_that_is_away_at_the_start_is_found_later() {
    let issuer = OidcIssuer::start().await;
    issuer.publish(&[&P256]);
    issuer.fail(IssuerDocument::Discovery, IssuerFault::Closes);
    let given = Given::of(issuer, None);
    let token = P256.token("ES256", &given.claims());
    given.assert_refused(&token, NO_KEY).await;
    given.issuer.recover();
    given.assert_refused(&token, NO_KEY).await;
    pass(Duration::from_secs(11)).await;
    given.bearer(&token).await.unwrap();
}

#[tokio::test]
async fn an_issuer_is_tried_again_without_a_token() {
    let issuer = OidcIssuer::start().await;
    issuer.publish(&[&P256]);
    issuer.fail(
        IssuerDocument::Keys,
        IssuerFault::Answer(503, String::new()),
    );
    let given = Given::of(issuer, None);
    let read = async |times: usize| {
        let read = async || (given.readings() == times).then_some(()).ok_or(times);
        eventually(DEADLINE, read).await;
    };
    let token = P256.token("ES256", &given.claims());
    // Waits for the end of the first reading.
    given.assert_refused(&token, NO_KEY).await;
    given.issuer.recover();
    pass(Duration::from_secs(31)).await;
    read(2).await;
    given.bearer(&token).await.unwrap();
    assert_eq!(given.readings(), 2);
}

#[tokio::test]
async fn without_issuers_nothing_ends_before_the_shutdown() {
    let issuers = Issuers::new(Vec::new()).unwrap();
    tokio::time::pause();
    let day = Duration::from_hours(24);
    let follows = tokio::time::timeout(day, issuers.follow(std::future::pending())).await;
    assert!(follows.is_err());
    issuers.follow(std::future::ready(())).await;
}

#[tokio::test]
async fn the_last_keys_stay_for_a_day() {
    let mut given = Given::keys(&[&P256]).await;
    let remembered = P256.token("ES256", &given.claims());
    given.bearer(&remembered).await.unwrap();
    given
        .issuer
        .fail(IssuerDocument::Discovery, IssuerFault::Closes);
    // Days of failed readings would take long.
    given.stop_following().await;
    pass(Duration::from_mins(24 * 60 - 1)).await;
    let new = given.claims_with(serde_json::json!({"jti": "new"}));
    let new = P256.token("ES256", &new);
    given.bearer(&new).await.unwrap();
    given.bearer(&remembered).await.unwrap();
    pass(Duration::from_secs(61)).await;
    tokio::time::pause();
    for token in [new, remembered] {
        given.assert_refused(&token, NO_KEY).await;
    }
}

#[tokio::test]
async fn a_failed_reading_takes_no_key_away() {
    let given = Given::keys(&[&P256]).await;
    let token = P256.token("ES256", &given.claims());
    given.bearer(&token).await.unwrap();
    given.issuer.fail(IssuerDocument::Keys, IssuerFault::Closes);
    pass(Duration::from_secs(11)).await;
    let other = OTHER.token("ES256", &given.claims());
    given.assert_refused(&other, NO_KEY).await;
    assert!(given.readings() > 1);
    given.bearer(&token).await.unwrap();
}

#[tokio::test]
async fn an_issuer_that_is_silent_keeps_no_caller_for_long() {
    for document in [IssuerDocument::Discovery, IssuerDocument::Keys] {
        for fault in [IssuerFault::Silent, IssuerFault::Slow] {
            let given = Given::keys(&[&P256]).await;
            let token = P256.token("ES256", &given.claims());
            given.bearer(&token).await.unwrap();
            given.issuer.fail(document, fault);
            pass(Duration::from_secs(11)).await;
            let other = OTHER.token("ES256", &given.claims());
            let waits = given.bearer(&other);
            let known = async {
                // Known keys do not wait for the reading.
                for _ in 0..3 {
                    given.bearer(&token).await.unwrap();
                }
                let asked = async || {
                    (given.issuer.requests(document) > 1)
                        .then_some(())
                        .ok_or("not asked")
                };
                eventually(DEADLINE, asked).await;
                pass(Duration::from_secs(11)).await;
            };
            let (refused, ()) = tokio::join!(waits, known);
            assert_eq!(refused.unwrap_err().to_string(), NO_KEY);
        }
    }
}
