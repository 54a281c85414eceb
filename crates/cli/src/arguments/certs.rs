//! The arguments of `cts certs`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::options::{OutputOption, path};

/// `cts certs`.
#[derive(Debug, Args)]
pub(crate) struct Certs {
    /// Directory of the files; it is made if it does not exist. Required.
    #[arg(long, value_name = "DIRECTORY", value_parser = path(), value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Domain of the names ROLE.DOMAIN in the certificates, such as cts.example. Required.
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: String,
    /// Make a certificate of this role only: watcher, scheduler, worker, gateway, operator, read, approve, operate or
    /// admin; may be given several times. Default: the first five.
    #[arg(long = "role", value_name = "ROLE", value_delimiter = ',')]
    pub(crate) roles: Vec<String>,
    /// A further name or IP address in the certificate of a service; may be given several times.
    #[arg(long = "host", value_name = "ROLE=NAME")]
    pub(crate) hosts: Vec<String>,
    /// Add localhost and 127.0.0.1 to the certificates of services, which are called by these names on this machine.
    #[arg(long)]
    pub(crate) local: bool,
    /// Days for which the certificates are valid.
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub(crate) days: u16,
    /// Replace certificates that exist. Those of services keep their names. An authority is never replaced.
    #[arg(long)]
    pub(crate) force: bool,
    /// Keep certificates that exist, and make the missing ones.
    #[arg(long, conflicts_with = "force")]
    pub(crate) keep: bool,
    /// Put the files of each role into a directory of its own, ROLE/, as cert.pem, key.pem and ca.pem.
    #[arg(long)]
    pub(crate) per_role: bool,
    /// How the result is printed.
    #[command(flatten)]
    pub(crate) output: OutputOption,
}
