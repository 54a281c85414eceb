//! Registrations: proof of one life of a worker process that it owns its id (docs/access.md#ids-of-workers).

use std::fmt;

use subtle::ConstantTimeEq as _;

use crate::words::digest::Digest;

/// The random bytes by which one life of a worker process owns its id: 32 bytes. `Debug` hides them.
#[derive(Clone)]
pub struct Registration([u8; 32]);

/// Bytes are not a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a registration has 32 bytes")]
pub struct InvalidRegistration;

/// The secret with which a registered worker requests runs: an HMAC-SHA-256 over its id and its registration. `Debug`
/// hides it.
#[derive(Clone)]
pub struct RegistrationSecret([u8; 32]);

/// The stored registration for the id of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownRegistration {
    /// The worker id is unknown.
    Absent,
    /// The worker sent no registration.
    Unproven,
    /// SHA-256 of the registration.
    Of(Digest),
}

impl Registration {
    /// The registration with these bytes, which must be random.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The registration with these bytes.
    ///
    /// # Errors
    /// Fails unless there are 32 bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, InvalidRegistration> {
        let bytes = bytes.try_into().map_err(|_error| InvalidRegistration)?;
        Ok(Self(bytes))
    }

    /// Its bytes, for a heartbeat.
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its SHA-256, which a store keeps.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl RegistrationSecret {
    /// The secret with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The secret with these bytes; `None` unless there are 32.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Its bytes, for a message.
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether these bytes are the secret. Takes the same time for every wrong value.
    pub fn is(&self, given: &[u8]) -> bool {
        self.0.ct_eq(given).into()
    }
}

impl KnownRegistration {
    /// Whether a heartbeat with this registration digest is from the process that owns the id. An id without a
    /// registration belongs to the first registration that a heartbeat has.
    pub fn admits(&self, given: Option<Digest>) -> bool {
        match self {
            Self::Absent | Self::Unproven => true,
            Self::Of(digest) => given == Some(*digest),
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Registration(…)")
    }
}

impl fmt::Debug for RegistrationSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RegistrationSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_belongs_to_its_registration() {
        let own = Registration::new([1; 32]).digest();
        let other = Registration::new([2; 32]).digest();
        for free in [KnownRegistration::Absent, KnownRegistration::Unproven] {
            assert!(free.admits(None) && free.admits(Some(own)));
        }
        let taken = KnownRegistration::Of(own);
        assert!(taken.admits(Some(own)));
        assert!(!taken.admits(Some(other)) && !taken.admits(None));
    }

    #[test]
    fn debug_hides_registrations_and_their_secrets() {
        let shown = format!(
            "{:?} {:?}",
            Registration::new([77; 32]),
            RegistrationSecret::new([77; 32])
        );
        assert!(!shown.contains("77"), "{shown}");
    }

    #[test]
    fn other_lengths_are_refused() {
        assert!(Registration::from_slice(&[1; 31]).is_err());
        assert!(Registration::from_slice(&[1; 32]).is_ok());
        assert!(RegistrationSecret::from_slice(&[]).is_none());
        assert!(!RegistrationSecret::new([1; 32]).is(&[]));
    }
}
