//! A set of public keys, as an issuer publishes it.

use std::sync::Arc;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;

const RSA: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// The keys of a set that check signatures.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<PublicKey>);

#[derive(Debug)]
struct PublicKey {
    jwk: Jwk,
    key: Arc<DecodingKey>,
}

impl KeySet {
    /// Leaves out keys of other kinds and for other purposes: an issuer may publish them next to the usable ones.
    pub(super) fn new(keys: Vec<Value>) -> Self {
        let keys = keys.into_iter().filter_map(PublicKey::new);
        Self(keys.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both have equal keys in the same order.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let jwks = |set: &Self| set.0.iter().map(|key| key.jwk.clone()).collect::<Vec<_>>();
        jwks(self) == jwks(other)
    }

    /// The only key with this id that makes such signatures. Without an id, the only key of this kind.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Arc<DecodingKey>> {
        let mut fitting = self.0.iter().filter(|key| {
            let is_meant = id.is_none() || key.jwk.common.key_id.as_deref() == id;
            is_meant && key.makes(algorithm)
        });
        let found = fitting.next()?;
        fitting.next().is_none().then_some(&found.key)
    }
}

impl PublicKey {
    fn new(jwk: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(jwk).ok()?;
        let common = &jwk.common;
        let signs = matches!(common.public_key_use, None | Some(PublicKeyUse::Signature));
        let operations = common.key_operations.as_ref();
        let verifies = operations.is_none_or(|all| all.contains(&KeyOperations::Verify));
        let is_usable = signs && verifies && !algorithms(&jwk.algorithm).is_empty();
        let key = is_usable.then(|| DecodingKey::from_jwk(&jwk).ok())??;
        let key = Arc::new(key);
        Some(Self { jwk, key })
    }

    fn makes(&self, algorithm: Algorithm) -> bool {
        let only = self.jwk.common.key_algorithm;
        let is_allowed = only.is_none_or(|only| Algorithm::try_from(only).ok() == Some(algorithm));
        is_allowed && algorithms(&self.jwk.algorithm).contains(&algorithm)
    }
}

/// The signatures of a kind of key. A shared secret makes none: its holder could issue tokens.
fn algorithms(parameters: &AlgorithmParameters) -> &'static [Algorithm] {
    match parameters {
        AlgorithmParameters::RSA(_) => RSA,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            &[Algorithm::ES256]
        }
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => {
            &[Algorithm::ES384]
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            &[Algorithm::EdDSA]
        }
        _ => &[],
    }
}
