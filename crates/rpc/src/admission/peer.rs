//! The other end of a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use cts_core::callers::ServiceRoles;
use cts_tls::PeerCertificate;
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// The other end of a connection, as in the extensions of each request on it.
#[derive(Debug, Clone, Default)]
pub struct ConnectedPeer {
    /// Address of the peer.
    pub address: Option<SocketAddr>,
    /// The certificate of the peer, which the handshake has verified.
    pub identity: Option<Arc<PeerIdentity>>,
}

/// A verified client certificate, read once for a connection.
#[derive(Debug)]
pub struct PeerIdentity {
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    /// The name to show.
    pub name: String,
    /// Roles by its DNS names.
    pub roles: ServiceRoles,
}

impl PeerIdentity {
    fn read(certificate: &CertificateDer<'_>, domain: Option<&str>) -> Self {
        let names = PeerCertificate::read(certificate);
        let roles = ServiceRoles::of(names.dns_names.iter().map(String::as_str), domain);
        Self {
            certificate: certificate.clone().into_owned(),
            name: names.name().to_owned(),
            roles,
        }
    }
}

/// Streams that may have a verified certificate of the other end.
pub(crate) trait Identified {
    /// The identity; names of other domains than `domain` give no roles.
    fn identity(&self, domain: Option<&str>) -> Option<PeerIdentity>;
}

impl Identified for TcpStream {
    fn identity(&self, _domain: Option<&str>) -> Option<PeerIdentity> {
        None
    }
}

impl Identified for TlsStream<TcpStream> {
    fn identity(&self, domain: Option<&str>) -> Option<PeerIdentity> {
        let certificate = self.get_ref().1.peer_certificates()?.first()?;
        Some(PeerIdentity::read(certificate, domain))
    }
}
