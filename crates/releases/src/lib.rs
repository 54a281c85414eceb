//! Releases of Terraform and OpenTofu, fetched from the vendor's site or a mirror and installed
//! (docs/terraform.md#installation).
//!
//! [`InstallLock`] makes one process at a time install into a directory. Under this lock [`Releases::fetch`]
//! downloads the archive of a release into that directory, checks it against the checksums that one of the
//! [`ReleaseKeys`] has signed, and unpacks the executable as a [`Staged`] file. The caller may try whether it
//! runs, before [`Staged::install`] gives it its name. If the installation is interrupted before that,
//! nothing that counts is left.
//!
//! This crate starts no process and knows no configuration. From a site it requests only the files of the
//! release.

mod archive;
mod checksums;
mod download;
mod error;
mod keys;
mod layout;
mod lock;
mod releases;

pub use archive::ArchiveError;
pub use error::{FileError, ReleaseError};
pub use keys::{KeyError, ReleaseKeys};
pub use layout::{Platform, Release, vendor_site};
pub use lock::InstallLock;
pub use releases::{Limits, Releases, Source, Staged};
