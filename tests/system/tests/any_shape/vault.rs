//! A Vault with a secret.

use cts_testkit::VaultServer;
use serde_json::json;

/// Its secret, `password` of `kv/probe`.
pub(crate) const SECRET: &str = "correct-horse-battery-staple";

/// A token for it.
pub(crate) const TOKEN: &str = "token-of-vault";

/// A real Vault with the secret and the token.
pub(crate) async fn vault() -> VaultServer {
    let vault = VaultServer::start().await;
    has(&vault, SECRET).await;
    let token = json!({"id": TOKEN, "policies": ["root"]});
    assert_eq!(vault.token(token).await, TOKEN);
    vault
}

/// Writes a newer secret.
pub(crate) async fn has(vault: &VaultServer, secret: &str) {
    let data = json!({"data": {"password": secret}});
    vault.write("kv/data/probe", data).await;
}
