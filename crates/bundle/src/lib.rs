//! Local Terraform modules as archives that can be moved to another host.
//!
//! A module directory, with every directory that its module calls lead to, becomes a [`Bundle`]: an archive
//! that is named by the hash of its content. Equal content gives equal hashes, whatever host, directory,
//! owner or time it has. The other side unpacks it ([`unpack()`]) or keeps a cache of unpacked bundles
//! ([`BundleCache`]).
//!
//! The crate works with file systems and with the few lines of a module that name other directories. Tasks,
//! databases and the transport of archives must stay unknown to this crate: a cache gets archives from a
//! function.
//!
//! A bundle has the files below the module directory and below each directory that a module call names
//! (`source = "../shared"`), followed from module to module. A bundle does not have:
//!
//! * files that expressions reach outside of these directories (`file("${path.module}/../x")`),
//! * modules whose source is an absolute path.
//!
//! Neither can be known for certain before Terraform runs; such files belong below the module directory. No
//! file is packed that lies outside of the [`Roots`] once links are resolved. A module may change while it is packed:
//! each file is opened without links, and is the one that was found, or the packing begins again.
//!
//! Start with [`pack()`] and [`BundleCache::ensure`].
#![warn(missing_docs)]

mod cache;
mod clean_path;
mod content;
mod failure;
mod handles;
mod interface;
mod layout;
mod limits;
mod module_files;
mod pack;
mod packing;
mod references;
mod roots;
mod source;
mod staging;
mod unpack;
mod variables;
mod walk;

pub use cache::{BundleCache, EnsureError, Retention, UnpackedBundle};
pub use clean_path::clean_path;
pub use failure::{PackError, PackFailure};
pub use interface::module_interface;
pub use limits::Limits;
pub use pack::{Bundle, BundleIdentity, identify, pack};
pub use packing::Packing;
pub use roots::{ModuleRoots, Roots};
pub use source::{InvalidModulePath, module_source};
pub use staging::unpack;
pub use unpack::UnpackError;
pub use variables::declared_variables;
