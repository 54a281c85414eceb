//! Releases of Terraform and OpenTofu, fetched from the vendor's site or a mirror and installed
//! (docs/terraform.md#installation).
//!
//! [`InstallLock`] makes one process at a time install into a directory. Meanwhile [`Releases::fetch`] downloads the
//! archive of a release beside its place, checks it against the checksums that one of the [`ReleaseKeys`] has signed, and
//! unpacks the executable: a [`Staged`] file, of which the caller may see whether it runs, before
//! [`Staged::install`] gives it its name. What was interrupted anywhere before that has left nothing that counts.
//!
//! This crate starts no process and knows no configuration. It asks nothing of a site but the files of the release.
#![warn(missing_docs)]

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
