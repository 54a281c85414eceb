//! Sessions whose token a program of an earlier version revokes.

use cts_store::Retention;

use super::sessions::{HOUR, begin, create_token, hashes, of_token, session};
use crate::Fixture;
use crate::scene::Scene;

/// A scene with a session of the token `ci`, and one of a user.
pub async fn with_a_token<F: Fixture>() -> Scene<F> {
    let scene = Scene::<F>::new(&[]).await;
    create_token(&scene, "ci", None).await;
    begin(&scene, &of_token("ci", 1)).await;
    begin(&scene, &session("alice", 2)).await;
    scene
}

/// The statement by which programs without sessions revoke the token of [`with_a_token`].
pub const EARLIER_REVOCATION: &str = "DELETE FROM access_tokens WHERE name = 'ci'";

/// Asserts that only the session without a token is left after [`EARLIER_REVOCATION`], and that its row goes after its
/// end. `rows` counts the rows.
pub async fn ends_with_its_token<F: Fixture>(scene: &Scene<F>, rows: impl AsyncFn() -> i64) {
    assert_eq!(hashes(scene).await, [2]);
    let prune = async || {
        let retention = Retention {
            age: HOUR,
            runs: 500,
        };
        let pruned = scene.store().prune(retention).await;
        pruned.expect("old data can be forgotten");
    };
    prune().await;
    assert_eq!(rows().await, 1);
    scene.advance(HOUR);
    prune().await;
    assert_eq!(rows().await, 0);
}
