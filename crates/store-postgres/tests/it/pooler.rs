//! A PgBouncer between the store and the server.

use std::error::Error as _;
use std::time::Duration;

use cts_store::{Hint, Store as _, StoreError};
use cts_store_postgres::{PoolerError, migrate};
use cts_testkit::{PgBouncer, Postgres};
use futures::StreamExt as _;
use tokio::time::timeout;

use crate::fixture::{migrated, settings};

/// The address of the same database through the pooler.
fn behind(pooler: &PgBouncer, url: &str) -> String {
    pooler.url(url.rsplit_once('/').unwrap().1)
}

async fn pooled(setting: &str) -> PgBouncer {
    PgBouncer::start(Postgres::shared().await, setting).await
}

fn refusal(error: &StoreError) -> &PoolerError {
    let source = error.source().unwrap_or_else(|| panic!("{error:?}"));
    source.downcast_ref().unwrap_or_else(|| panic!("{error:?}"))
}

#[tokio::test]
async fn sessions_can_be_pooled() {
    let pooler = pooled("pool_mode = session").await;
    let url = Postgres::shared().await.create_database().await;
    let pooled = settings(&behind(&pooler, &url));
    migrate(&pooled).await.unwrap();
    let store = cts_store_postgres::connect(&pooled).await.unwrap();
    let mut hints = store.listen().await.unwrap().unwrap();
    store.publish(&[Hint::Queue]).await.unwrap();
    let hint = timeout(Duration::from_secs(10), hints.next()).await;
    assert_eq!(hint.unwrap(), Some(Hint::Queue));
    store.close().await;
}

#[tokio::test]
async fn transactions_cannot() {
    let pooler = pooled("pool_mode = transaction").await;
    let url = migrated().await;
    let pooled = settings(&behind(&pooler, &url));
    let refused = [
        cts_store_postgres::connect(&pooled)
            .await
            .map(drop)
            .unwrap_err(),
        migrate(&pooled).await.map(drop).unwrap_err(),
    ];
    for error in &refused {
        assert_eq!(refusal(error), &PoolerError::Transactions);
        let text = refusal(error).to_string();
        assert!(text.contains("pool_mode = session"), "{text}");
    }
}

#[tokio::test]
async fn an_option_of_the_address_that_is_ignored_is_named() {
    let pooler = pooled("pool_mode = session\nignore_startup_parameters = options").await;
    let asks = |url: &str| settings(&format!("{url}?options=-c%20search_path%3Dpublic"));
    let url = migrated().await;
    cts_store_postgres::connect(&asks(&url)).await.unwrap();
    let error = cts_store_postgres::connect(&asks(&behind(&pooler, &url)))
        .await
        .unwrap_err();
    let name = "search_path".to_owned();
    assert_eq!(refusal(&error), &PoolerError::IgnoredOption { name });
}
