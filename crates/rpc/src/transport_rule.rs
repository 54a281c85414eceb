//! Plain text only if the configuration allows it.

use std::fmt::Display;
use std::net::SocketAddr;

use crate::address::Address;

/// Decides between which addresses services may communicate: anywhere with TLS, without TLS only on the loopback
/// interface, unless plain text was allowed by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportRule {
    /// Whether TLS is configured (`services.tls`).
    pub tls: bool,
    /// Whether plain text is allowed beyond the loopback interface (`services.plaintext`).
    pub plaintext: bool,
}

/// Services would talk in plain text over a network without permission in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlainTextRefused {
    /// A listener would be open to other machines.
    #[error(
        "refusing to listen on {address} in plain text, which other machines can reach: configure services.tls, or set services.plaintext = true"
    )]
    Listener {
        /// The address of the listener.
        address: String,
    },
    /// A service on another machine would be called.
    #[error(
        "refusing to call {address} in plain text beyond this machine: configure services.tls, or set services.plaintext = true"
    )]
    Peer {
        /// The service.
        address: String,
    },
}

impl TransportRule {
    /// Judges an address to listen on. An unspecified address, such as `0.0.0.0`, is not loopback.
    pub fn check_listener(self, address: SocketAddr) -> Result<(), PlainTextRefused> {
        let loopback = address.ip().to_canonical().is_loopback();
        self.check(loopback, &address, |address| PlainTextRefused::Listener {
            address,
        })
    }

    /// Judges the address of another service.
    pub fn check_peer(self, address: &Address) -> Result<(), PlainTextRefused> {
        self.check(address.is_loopback(), address, |address| {
            PlainTextRefused::Peer { address }
        })
    }

    fn check(
        self,
        loopback: bool,
        address: &dyn Display,
        refused: impl FnOnce(String) -> PlainTextRefused,
    ) -> Result<(), PlainTextRefused> {
        if self.tls || self.plaintext || loopback {
            return Ok(());
        }
        Err(refused(address.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: TransportRule = TransportRule {
        tls: false,
        plaintext: false,
    };

    #[test]
    fn plain_text_beyond_loopback_must_be_asked_for() {
        for (listener, peer, loopback) in [
            ("127.0.0.1:8560", "localhost:8560", true),
            ("[::1]:8560", "[::1]:8560", true),
            ("0.0.0.0:8560", "scheduler:8560", false),
            ("[::]:8560", "10.0.0.1:8560", false),
        ] {
            let listener: SocketAddr = listener.parse().unwrap();
            let peer: Address = peer.parse().unwrap();
            assert_eq!(SILENT.check_listener(listener).is_ok(), loopback);
            assert_eq!(SILENT.check_peer(&peer).is_ok(), loopback, "{peer}");
            for allowed in [
                TransportRule {
                    tls: true,
                    ..SILENT
                },
                TransportRule {
                    plaintext: true,
                    ..SILENT
                },
            ] {
                assert_eq!(allowed.check_listener(listener), Ok(()));
                assert_eq!(allowed.check_peer(&peer), Ok(()));
            }
        }
    }

    #[test]
    fn the_refusal_names_the_remedies() {
        let refused = SILENT.check_listener(([0, 0, 0, 0], 8560).into());
        let text = refused.unwrap_err().to_string();
        for part in ["0.0.0.0:8560", "services.tls", "services.plaintext = true"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
