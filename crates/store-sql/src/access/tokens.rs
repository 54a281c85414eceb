//! Tokens of the API.

use cts_core::callers::Role;
use cts_store::cell::encoded;
use cts_store::{NewStoredToken, StoreError, StoredToken, decode};

use crate::{Connection, sql};

/// Stores a token unless its name is in use. The right to approve is a column of its own: a program without that right
/// would accept no token at all beside a role with an unknown name.
pub async fn create(c: &mut dyn Connection, token: &NewStoredToken) -> Result<bool, StoreError> {
    let created = sql(
        "store a token",
        "-- create_token
        INSERT INTO access_tokens (name, sha256, role, tasks, created_at, created_by, expires_at, approves)
        VALUES ($1, $2, $3, $4, {now}, $5, {now} + $6, $7) ON CONFLICT (name) DO NOTHING",
    );
    let (role, approves) = match token.role {
        Role::Approve => (Role::Read, true),
        Role::OperateApprove => (Role::Operate, true),
        role @ (Role::Read | Role::Operate | Role::Admin) => (role, false),
    };
    let created = created
        .bind(&token.name)
        .bind(token.sha256.as_slice())
        .bind(role.as_str())
        .bind(encoded("store a token", &token.tasks)?)
        .bind(&token.created_by)
        .bind(token.life)
        .bind(approves);
    Ok(created.execute(c).await? == 1)
}

/// Forgets a token.
pub async fn revoke(c: &mut dyn Connection, name: &str) -> Result<bool, StoreError> {
    let revoked = sql(
        "revoke a token",
        "-- revoke_token\nDELETE FROM access_tokens WHERE name = $1",
    );
    Ok(revoked.bind(name).execute(c).await? == 1)
}

/// All tokens by name.
pub async fn all(c: &mut dyn Connection) -> Result<Vec<StoredToken>, StoreError> {
    let tokens = sql(
        "read the tokens",
        "-- tokens
        SELECT name, sha256, role, tasks, created_at, created_by, expires_at, approves
        FROM access_tokens ORDER BY name",
    );
    tokens.all(c, decode::stored_token).await
}
