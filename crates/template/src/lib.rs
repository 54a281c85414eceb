//! Dynamic values: texts with `{{ env "X" }}`, `{{ key "x" }}` or `{{ with secret "x" }}` in them, in the template language
//! of Go (docs/configuration.md#dynamic-values).
//!
//! Pure: [`recognise`] says whether a text is a template, [`Template`] evaluates one with what its caller has found, and
//! says what it still needs. Nothing is read here.

mod functions;
mod recognition;
mod source;
mod sources;
mod template;

pub use recognition::{Recognised, recognise};
pub use source::{Found, KeyPath, Source};
pub use template::{Evaluation, Template, TemplateError};
