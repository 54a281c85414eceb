//! The description of the tables, held against both schemas.

use std::collections::BTreeSet;

use cts_store_conformance::Fixture as _;
use cts_store_sql::tables::{Kind, STAYING, TABLES};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, PgConnection};

use crate::fixture::migrated;
use crate::transfer::FileFixture;

/// Table, column and type.
type Column = (String, String, String);

async fn of_sqlite() -> Vec<Column> {
    let file = FileFixture::new().await;
    let options = SqliteConnectOptions::new().filename(file.path());
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let columns = sqlx::query_as(
        "SELECT m.name, c.name, c.type FROM sqlite_schema m JOIN pragma_table_info(m.name) c
         WHERE m.type = 'table' AND m.name NOT IN ('_sqlx_migrations', 'sqlite_sequence')",
    );
    columns.fetch_all(&mut connection).await.unwrap()
}

async fn of_postgres() -> Vec<Column> {
    let mut connection = PgConnection::connect(&migrated().await).await.unwrap();
    let columns = sqlx::query_as(
        "SELECT table_name::TEXT, column_name::TEXT, data_type::TEXT
         FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
         WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'
           AND table_name <> '_sqlx_migrations'",
    );
    columns.fetch_all(&mut connection).await.unwrap()
}

fn staying(of: &str) -> BTreeSet<&'static str> {
    let lists = STAYING.iter().filter(|(name, _, _)| *name == of);
    lists.flat_map(|(_, names, _)| *names).copied().collect()
}

/// The kinds of columns that have this type.
fn kinds(data_type: &str) -> &'static [Kind] {
    match data_type {
        "text" => &[Kind::Text],
        "TEXT" => &[Kind::Text, Kind::Id],
        "bigint" | "integer" | "smallint" => &[Kind::Integer, Kind::Input, Kind::Content],
        "INTEGER" => &[Kind::Integer, Kind::Input, Kind::Content, Kind::Flag],
        "boolean" => &[Kind::Flag],
        "bytea" | "BLOB" => &[Kind::Bytes],
        "uuid" => &[Kind::Id],
        other => panic!("no kind has the type {other}"),
    }
}

#[tokio::test]
async fn every_column_of_both_schemas_moves_or_stays_for_a_reason() {
    for columns in [of_sqlite().await, of_postgres().await] {
        for (table, column, data_type) in &columns {
            let (table, column) = (table.as_str(), column.as_str());
            if staying("tables").contains(table) {
                continue;
            }
            let described = TABLES.into_iter().find(|described| described.name == table);
            let described = described.unwrap_or_else(|| panic!("{table} is not described"));
            let stays = staying(table).contains(column);
            match described.columns.iter().find(|(name, _)| *name == column) {
                Some((_, Kind::Stays)) => assert!(stays, "{table}.{column} stays without a reason"),
                Some((_, kind)) => {
                    assert!(!stays, "{table}.{column} moves");
                    assert!(
                        kinds(data_type).contains(kind),
                        "{table}.{column} is {data_type}"
                    );
                }
                None => assert!(stays, "{table}.{column} is not described"),
            }
        }
        for described in TABLES {
            for (column, _) in described.columns {
                let mut stored = columns.iter();
                let is_stored =
                    stored.any(|(table, name, _)| table == described.name && name == column);
                assert!(
                    is_stored,
                    "{}.{column} is not in the schema",
                    described.name
                );
            }
        }
    }
}

/// A table that stays in one database, or a column, may be missing in the other one.
#[tokio::test]
async fn every_reason_is_about_a_table_or_a_column() {
    let (mut tables, mut all) = (BTreeSet::new(), BTreeSet::new());
    for (table, column, _) in of_sqlite().await.into_iter().chain(of_postgres().await) {
        tables.insert(table.clone());
        all.insert((table, column));
    }
    for (of, names, _reason) in STAYING {
        for name in *names {
            let (of, name) = ((*of).to_owned(), (*name).to_owned());
            let is_stored = if of == "tables" {
                tables.contains(&name)
            } else {
                all.contains(&(of, name.clone()))
            };
            assert!(is_stored, "{name}");
        }
    }
}
