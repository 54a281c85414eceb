//! Public keys that sign releases, and detached signatures by them (`OpenPGP`, RFC 9580).

use cts_core::EngineKind;
use pgp::composed::{Deserializable, DetachedSignature, SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureType};
use pgp::types::{Duration, KeyDetails, Tag, VerifyingKey};

use crate::checksums::hexadecimal;

/// Fingerprint C874011F0AB405110D02105534365D9472D7468F; its signing subkey is 374EC75B485913604A831CC7C820C6D5CD27AB87.
const TERRAFORM: &[u8] = include_bytes!("../keys/terraform.asc");

/// Fingerprint E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80.
const OPEN_TOFU: &[u8] = include_bytes!("../keys/opentofu.asc");

/// Prefix of an armored file.
const ARMOR: &[u8] = b"-----BEGIN PGP";

/// A key or a signature does not count.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file is no public key.
    #[error("it is no OpenPGP public key")]
    Unreadable(#[source] Box<pgp::errors::Error>),
    /// The file has no key that may sign.
    #[error("it has no public key that may sign and was not revoked")]
    NoSigningKey,
    /// The file is not a signature.
    #[error("it is no OpenPGP signature")]
    NoSignature(#[source] Box<pgp::errors::Error>),
    /// The file is another kind of signature, or one with a hash that can be forged.
    #[error("it is no signature of a file with a strong hash")]
    Weak,
    /// None of the keys has made it for these bytes.
    #[error("none of the {keys} known keys has made it for this file")]
    Mismatch {
        /// How many keys were tried.
        keys: usize,
    },
}

/// Public keys; a signature by one of them is enough.
#[derive(Debug, Clone)]
pub struct ReleaseKeys(Vec<SignedPublicKey>);

impl ReleaseKeys {
    /// The key that the vendor of an engine signs its releases with.
    pub fn of_vendor(engine: EngineKind) -> Result<Self, KeyError> {
        Self::read(match engine {
            EngineKind::Terraform => TERRAFORM,
            EngineKind::OpenTofu => OPEN_TOFU,
        })
    }

    /// The keys in a file, armored or not.
    pub fn read(file: &[u8]) -> Result<Self, KeyError> {
        let unreadable = |error| KeyError::Unreadable(Box::new(error));
        let file = file.trim_ascii_start();
        let keys: Result<Vec<_>, _> = if file.starts_with(ARMOR) {
            let (keys, _headers) =
                SignedPublicKey::from_armor_many_buf(file).map_err(unreadable)?;
            keys.collect()
        } else {
            SignedPublicKey::from_bytes_many(file)
                .map_err(unreadable)?
                .collect()
        };
        let keys = keys.map_err(unreadable)?;
        let signs = |key: &SignedPublicKey| primary(key).is_some() || subkeys(key).next().is_some();
        if keys.is_empty() || !keys.iter().all(signs) {
            return Err(KeyError::NoSigningKey);
        }
        Ok(Self(keys))
    }

    /// Adds the keys of `others`.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The last eight digits of the fingerprints, as names of files have them.
    pub(crate) fn short_ids(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|key| {
            let id = key.primary_key.legacy_key_id();
            hexadecimal(id.as_ref().get(4..).unwrap_or_default()).to_uppercase()
        })
    }

    /// Whether one of the keys has made `signature`, armored or not, for `content`, while the key was valid.
    /// The current time does not matter: a release stays valid when its key expires.
    pub(crate) fn verify(&self, content: &[u8], signature: &[u8]) -> Result<(), KeyError> {
        let unreadable = |error| KeyError::NoSignature(Box::new(error));
        let signature = signature.trim_ascii_start();
        let signature = if signature.starts_with(ARMOR) {
            let read = DetachedSignature::from_armor_single_buf(signature);
            read.map_err(unreadable)?.0
        } else {
            DetachedSignature::from_bytes(signature).map_err(unreadable)?
        };
        let DetachedSignature { signature } = signature;
        if signature.typ() != Some(SignatureType::Binary) || !has_strong_hash(&signature) {
            return Err(KeyError::Weak);
        }
        let matches = |key: &SignedPublicKey| {
            let by_primary = primary(key)
                .is_some_and(|binding| counts(&signature, &key.primary_key, binding, content));
            by_primary
                || subkeys(key)
                    .any(|(subkey, binding)| counts(&signature, &subkey.key, binding, content))
        };
        if self.0.iter().any(matches) {
            Ok(())
        } else {
            let keys = self.0.len();
            Err(KeyError::Mismatch { keys })
        }
    }
}

/// Whether `key`, whose life the signature `binding` gives, has made `signature` for `content` while it was
/// valid.
fn counts<K: VerifyingKey>(
    signature: &Signature,
    key: &K,
    binding: &Signature,
    content: &[u8],
) -> bool {
    let (Some(made), first) = (signature.created(), key.created_at().as_secs()) else {
        return false;
    };
    let lives = binding.key_expiration_time().map_or(0, Duration::as_secs);
    let last = match lives {
        0 => u32::MAX,
        lives => first.saturating_add(lives),
    };
    (first..=last).contains(&made.as_secs()) && signature.verify(key, content).is_ok()
}

/// The signature that allows a primary key to sign; `None` if the key may not sign, or was revoked.
fn primary(key: &SignedPublicKey) -> Option<&Signature> {
    if is_revoked(key) {
        return None;
    }
    let of_users = key.details.users.iter().flat_map(|user| {
        let signatures = user.signatures.iter();
        signatures.filter(|signature| {
            let verified = signature.verify_certification(&key.primary_key, Tag::UserId, &user.id);
            signature.typ() != Some(SignatureType::CertRevocation) && verified.is_ok()
        })
    });
    let direct = key.details.direct_signatures.iter();
    let direct = direct.filter(|signature| signature.verify_key(&key.primary_key).is_ok());
    let newest = of_users.chain(direct).max_by_key(|it| it.created())?;
    newest.key_flags().sign().then_some(newest)
}

/// Subkeys that may sign, with the newest signature that allows it.
fn subkeys(key: &SignedPublicKey) -> impl Iterator<Item = (&SignedPublicSubKey, &Signature)> {
    let subkeys = key.public_subkeys.iter().filter(|_| !is_revoked(key));
    subkeys.filter_map(|subkey| {
        let bindings = subkey.signatures.iter().filter(|signature| {
            let verified = signature.verify_subkey_binding(&key.primary_key, &subkey.key);
            verified.is_ok()
        });
        let (revocations, bindings): (Vec<_>, Vec<_>) = bindings
            .partition(|signature| signature.typ() == Some(SignatureType::SubkeyRevocation));
        let newest = bindings.into_iter().max_by_key(|it| it.created())?;
        // The subkey also signs that it belongs to this key.
        let agrees = newest.embedded_signature().is_some_and(|back| {
            back.verify_primary_key_binding(&subkey.key, &key.primary_key)
                .is_ok()
        });
        let usable = revocations.is_empty() && newest.key_flags().sign() && agrees;
        usable.then_some((subkey, newest))
    })
}

fn is_revoked(key: &SignedPublicKey) -> bool {
    let mut revocations = key.details.revocation_signatures.iter();
    revocations.any(|signature| signature.verify_key(&key.primary_key).is_ok())
}

fn has_strong_hash(signature: &Signature) -> bool {
    matches!(
        signature.hash_alg(),
        Some(
            HashAlgorithm::Sha256
                | HashAlgorithm::Sha384
                | HashAlgorithm::Sha512
                | HashAlgorithm::Sha3_256
                | HashAlgorithm::Sha3_512
        )
    )
}

#[cfg(test)]
mod tests;
