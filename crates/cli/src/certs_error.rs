//! Why no certificates are made.

use std::io;
use std::path::PathBuf;

use cts_tls::TlsError;

/// Certificates cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CertsError {
    /// Files are in the way.
    #[error(
        "nothing is made, because these files exist: {}; -force replaces them",
        .0.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    Exist(Vec<PathBuf>),
    /// The directory has only one of the two files of an authority.
    #[error("{} is one half of an authority: its certificate is ca.pem, its key ca-key.pem; bring the other half here, or use another directory", .0.display())]
    HalfAuthority(PathBuf),
    /// A certificate cannot be made for a domain or a host.
    #[error("{0:?} is no DNS name such as cts.example")]
    Name(String),
    /// A role does not exist.
    #[error(
        "{0:?} is no role: use watcher, scheduler, worker, gateway, operator, read, approve, operate or admin"
    )]
    Role(String),
    /// A host comes without its role.
    #[error("-host {0:?} is not of the form ROLE=NAME")]
    Host(String),
    /// The certificate of a role that is not made would have the host.
    #[error("-host {host:?} is for the role {role}, of which no certificate is made")]
    OtherRole { host: String, role: String },
    /// The certificate of a person, which is not for servers, would have the host.
    #[error("-host {host:?} is for the role {role}, whose certificate is not for servers")]
    PersonsHost { host: String, role: String },
    /// The names of a certificate that is replaced cannot be read.
    #[error("the names of the certificate that is replaced cannot be kept: remove it first")]
    Replaced(#[from] TlsError),
    /// A file cannot be used.
    #[error("cannot use {}", path.display())]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The files of the authority are no authority.
    #[error("{} and its key are no authority", path.display())]
    Authority {
        path: PathBuf,
        #[source]
        source: rcgen::Error,
    },
    /// The certificate cannot be made.
    #[error("a certificate cannot be made")]
    Make(#[source] rcgen::Error),
}
