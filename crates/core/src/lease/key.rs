//! The secrets of leases and of registered workers (docs/access.md#leases), and the key for fingerprints of plans.

use subtle::ConstantTimeEq as _;

use crate::lease::registration::RegistrationSecret;
use crate::settings::{ClusterKey, InvalidKey};
use crate::words::digest::Digest;
use crate::words::identity::{LeaseEpoch, RunId, WorkerId};

/// The key from which the schedulers of a cluster derive the secrets of leases and of registered workers: 32 random
/// bytes. `Debug` shows only its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseKey(ClusterKey);

impl LeaseKey {
    /// The key with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(ClusterKey::new(bytes))
    }

    /// The key with these bytes.
    ///
    /// # Errors
    /// Fails unless there are 32 bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, InvalidKey> {
        ClusterKey::from_slice(bytes).map(Self)
    }

    /// Its bytes, for storage.
    pub const fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }

    /// The secret of a lease. Every scheduler can derive it, so no secret is stored.
    pub fn secret(&self, run: RunId, epoch: LeaseEpoch, holder: &WorkerId) -> [u8; 32] {
        let (run, epoch) = (run.as_uuid(), epoch.get().to_be_bytes());
        let holder = holder.as_str();
        let parts = [&b"lease"[..], run.as_bytes(), &epoch, holder.as_bytes()];
        *self.0.digest(parts).as_bytes()
    }

    /// Whether this is the secret of the lease. Takes the same time for every wrong secret.
    pub fn proves(&self, run: RunId, epoch: LeaseEpoch, holder: &WorkerId, secret: &[u8]) -> bool {
        self.secret(run, epoch, holder).ct_eq(secret).into()
    }

    /// The secret of the worker with this id and a registration with this digest. Every scheduler can derive it, so
    /// no secret is stored.
    pub fn registration_secret(
        &self,
        worker: &WorkerId,
        registration: Digest,
    ) -> RegistrationSecret {
        let (worker, registration) = (worker.as_str().as_bytes(), registration.as_bytes());
        let parts = [&b"registration"[..], worker, registration];
        RegistrationSecret::new(*self.0.digest(parts).as_bytes())
    }
}

/// The key for the fingerprints of plans (docs/runs.md#plans-as-data): 32 random bytes. Workers get this key with each
/// lease. `Debug` shows only its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanKey(ClusterKey);

impl PlanKey {
    /// The key with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(ClusterKey::new(bytes))
    }

    /// The key with these bytes.
    ///
    /// # Errors
    /// Fails unless there are 32 bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, InvalidKey> {
        ClusterKey::from_slice(bytes).map(Self)
    }

    /// Its bytes, for storage and for workers.
    pub const fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }

    /// The digest of a sequence of byte strings under this key, each with its length.
    pub fn digest<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        self.0.digest(parts)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_secret_is_that_of_one_lease_only() {
        let key = LeaseKey::new([7; 32]);
        let run = |number| RunId::from_uuid(Uuid::from_u128(number));
        let epoch = |number| LeaseEpoch::new(number);
        let worker = |name: &str| WorkerId::new(name);
        let secret = key.secret(run(1), epoch(1), &worker("w"));
        assert!(key.proves(run(1), epoch(1), &worker("w"), &secret));
        assert!(!key.proves(run(2), epoch(1), &worker("w"), &secret));
        assert!(!key.proves(run(1), epoch(2), &worker("w"), &secret));
        assert!(!key.proves(run(1), epoch(1), &worker("v"), &secret));
        assert!(!key.proves(run(1), epoch(1), &worker("w"), &secret[1..]));
        assert!(!key.proves(run(1), epoch(1), &worker("w"), &[]));
        let other = LeaseKey::new([8; 32]);
        assert!(!other.proves(run(1), epoch(1), &worker("w"), &secret));
    }

    #[test]
    fn a_secret_is_that_of_one_registration_only() {
        let (key, other) = (LeaseKey::new([7; 32]), LeaseKey::new([8; 32]));
        let worker = |name: &str| WorkerId::new(name);
        let registration = |byte| Digest::of(&[byte; 32]);
        let secret = key.registration_secret(&worker("w"), registration(1));
        let is = |key: &LeaseKey, name, byte| {
            let made = key.registration_secret(&worker(name), registration(byte));
            made.is(secret.expose())
        };
        assert!(is(&key, "w", 1));
        assert!(!is(&key, "v", 1) && !is(&key, "w", 2) && !is(&other, "w", 1));
    }
}
