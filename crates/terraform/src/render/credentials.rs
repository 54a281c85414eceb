//! Credentials of the backend (docs/terraform.md#credentials).

use cts_core::Backend;

use super::expression::{sorted, value, write_assignments};
use super::root_module::GeneratedFile;

/// File for `init -backend-config`.
const BACKEND_CREDENTIALS: &str = "backend.tfbackend";

/// The argument that names this file.
pub(crate) const BACKEND_CONFIG: &str = "-backend-config=backend.tfbackend";

/// The file with the arguments that are not written into `main.tf`; `None` if all are.
pub(super) fn render(backend: &Backend) -> Option<GeneratedFile> {
    let arguments = sorted(&backend.arguments).into_iter();
    let credentials: Vec<_> = arguments
        .filter(|(name, argument)| Backend::is_credential(name, argument))
        .map(|(name, argument)| (name, value(argument, 0)))
        .collect();
    if credentials.is_empty() {
        return None;
    }
    let mut contents = String::new();
    write_assignments(&mut contents, &credentials, 0);
    Some(GeneratedFile {
        secret: true,
        ..GeneratedFile::new(BACKEND_CREDENTIALS, contents)
    })
}
