//! Databases that are refused, and bringing others up to date.

use std::error::Error as _;
use std::time::Duration;

use cts_core::Chain;
use cts_store::schema::{FIRST, SchemaMismatch};
use cts_store::{Store as _, StoreError};
use cts_store_postgres::{SchemaError, Settings, migrate, pending};
use cts_testkit::{KeyKind, KeyPairFiles, Openssl, Postgres, PostgresSettings, free_port};

use crate::fixture::{execute, migrated, number, settings};

fn schema_error(error: &StoreError) -> &SchemaError {
    let StoreError::Open { source, .. } = error else {
        panic!("{error:?}");
    };
    source.downcast_ref().unwrap_or_else(|| panic!("{error:?}"))
}

async fn refused(url: &str) -> StoreError {
    cts_store_postgres::connect(&settings(url))
        .await
        .unwrap_err()
}

/// Number of migrations.
fn migrations() -> usize {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
    std::fs::read_dir(directory).unwrap().count()
}

#[tokio::test]
async fn a_database_from_before_the_first_release_is_refused() {
    let url = migrated().await;
    let earlier = format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({}, 'earlier', TRUE, '', 0)",
        FIRST - 1
    );
    execute(&url, &earlier).await;
    let expected = SchemaError::Mismatch(SchemaMismatch::Unreleased);
    assert_eq!(schema_error(&refused(&url).await), &expected);
    let error = migrate(&settings(&url)).await.unwrap_err();
    assert_eq!(schema_error(&error), &expected);
    let text = "made before 0.1.0: start with an empty one";
    assert_eq!(expected.to_string(), text);
}

#[tokio::test]
async fn an_empty_database_asks_for_the_migration() {
    let url = Postgres::shared().await.create_database().await;
    let error = refused(&url).await;
    let missing = migrations();
    assert_eq!(schema_error(&error), &SchemaError::Older { missing });
    let text = error.source().unwrap().to_string();
    assert!(text.contains("cts migrate"), "{text}");
}

#[tokio::test]
async fn an_older_database_asks_for_the_migration() {
    let url = migrated().await;
    execute(&url, "DELETE FROM _sqlx_migrations").await;
    let error = refused(&url).await;
    assert!(matches!(schema_error(&error), SchemaError::Older { .. }));
}

#[tokio::test]
async fn a_newer_database_is_used_while_it_fits_and_refused_then() {
    let url = migrated().await;
    let newer =
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (29990101000000, 'future', TRUE, '', 0)";
    execute(&url, newer).await;
    execute(&url, "ALTER TABLE tasks ADD COLUMN colour TEXT").await;
    assert_eq!(pending(&settings(&url)).await.unwrap(), []);
    assert_eq!(migrate(&settings(&url)).await.unwrap(), []);
    let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    assert_eq!(store.tasks().await.unwrap(), []);
    let raised = "UPDATE schema_compatibility SET oldest = 29990101000000";
    execute(&url, raised).await;
    let expected = SchemaError::Mismatch(SchemaMismatch::Newer {
        version: 29_990_101_000_000,
        oldest: 29_990_101_000_000,
    });
    assert_eq!(schema_error(&refused(&url).await), &expected);
    for error in [
        migrate(&settings(&url)).await.unwrap_err(),
        pending(&settings(&url)).await.unwrap_err(),
    ] {
        assert_eq!(schema_error(&error), &expected);
    }
    assert!(expected.to_string().contains("too old"));
}

#[tokio::test]
async fn a_schema_with_another_content_is_refused() {
    let url = migrated().await;
    execute(&url, "UPDATE _sqlx_migrations SET checksum = 'x'").await;
    let error = refused(&url).await;
    assert!(matches!(
        schema_error(&error),
        SchemaError::Mismatch(SchemaMismatch::Changed { .. })
    ));
}

#[tokio::test]
async fn a_migration_is_told_before_and_applied_once() {
    let url = Postgres::shared().await.create_database().await;
    let settings = settings(&url);
    let told = pending(&settings).await.unwrap();
    let told_names: Vec<_> = told.iter().map(|step| step.description.as_str()).collect();
    assert_eq!(told_names[0], "initial");
    assert_eq!(told_names.len(), migrations());
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(number(&url, tables).await, 0, "telling changes nothing");
    assert_eq!(migrate(&settings).await.unwrap(), told);
    assert_eq!(migrate(&settings).await.unwrap(), []);
    assert_eq!(pending(&settings).await.unwrap(), []);
    let store = cts_store_postgres::connect(&settings).await.unwrap();
    assert_eq!(store.tasks().await.unwrap(), []);
}

#[tokio::test]
async fn parallel_migrations_apply_each_step_once() {
    let url = Postgres::shared().await.create_database().await;
    let settings = settings(&url);
    let all = futures::future::join_all((0..6).map(|_| migrate(&settings))).await;
    let applied: Vec<_> = all.into_iter().map(|done| done.unwrap().len()).collect();
    assert_eq!(applied.iter().sum::<usize>(), migrations(), "{applied:?}");
}

#[tokio::test]
async fn no_error_shows_the_password() {
    let postgres = Postgres::start_with(PostgresSettings {
        fsync: false,
        password: Some("open-sesame"),
        parameters: &[],
        tls: None,
    })
    .await;
    let url = postgres.create_database().await;
    let closed = free_port();
    let places = [
        url.clone(),
        url.replace("open-sesame", "wrong-secret"),
        url.replace(&postgres.port().to_string(), &closed.to_string()),
        url.replace("cts_", "absent_"),
        url.replace("127.0.0.1", "open-sesame@[::x"),
        "open-sesame".to_owned(),
    ];
    for place in places {
        let settings = settings(&place);
        let error = cts_store_postgres::connect(&settings).await.unwrap_err();
        let mut text = format!("{settings:?} {error:?} {error}");
        let mut source = error.source();
        while let Some(error) = source {
            text = format!("{text} {error:?} {error}");
            source = error.source();
        }
        let secret = ["open-sesame", "wrong-secret"];
        assert!(!secret.iter().any(|word| text.contains(word)), "{text}");
    }
    migrate(&settings(&url)).await.unwrap();
    let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    let text = format!("{store:?}");
    assert!(!text.contains("open-sesame"), "{text}");
}

#[tokio::test]
async fn a_place_without_a_database_is_told_at_once() {
    let url = format!("postgres://cts@127.0.0.1:{}/cts", free_port());
    let settings = settings(&url);
    let connecting = cts_store_postgres::connect(&settings);
    let error = tokio::time::timeout(Duration::from_secs(8), connecting).await;
    let error = error.unwrap().unwrap_err();
    let StoreError::Open { location, source } = &error else {
        panic!("{error:?}");
    };
    assert!(location.starts_with("postgres://127.0.0.1:"), "{location}");
    assert!(source.to_string().contains("refused"), "{source}");
}

#[tokio::test]
async fn certificates_that_are_not_there_are_told() {
    let url = migrated().await;
    let settings = Settings {
        ca_cert: Some("/nowhere/ca.pem".into()),
        ..settings(&format!("{url}?sslmode=verify-full"))
    };
    let error = cts_store_postgres::connect(&settings).await.unwrap_err();
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
}

#[tokio::test]
async fn a_self_signed_certificate_is_accepted_unless_it_is_an_authoritys_and_then_the_way_out_is_named()
 {
    let openssl = Openssl::new();
    let name = "subjectAltName=IP:127.0.0.1";
    let authority = openssl.self_signed("authority", KeyKind::Rsa, &[name]);
    let constraint = "basicConstraints=critical,CA:FALSE";
    let plain = openssl.self_signed("plain", KeyKind::Rsa, &[name, constraint]);
    let connect = async |pair: &KeyPairFiles, mode: &str| {
        let server = Postgres::start_with(PostgresSettings {
            fsync: false,
            tls: Some(pair),
            ..PostgresSettings::default()
        });
        let server = server.await;
        let url = server.create_database().await;
        let settings = Settings {
            ca_cert: Some(pair.cert.clone()),
            ..settings(&format!("{url}?sslmode={mode}"))
        };
        migrate(&settings).await.map(drop)
    };
    connect(&plain, "verify-full").await.unwrap();
    connect(&authority, "require").await.unwrap();
    let error = connect(&authority, "verify-full").await.unwrap_err();
    let text = Chain(&error).to_string();
    assert!(
        text.contains("basicConstraints=critical,CA:FALSE"),
        "{text}"
    );
}
