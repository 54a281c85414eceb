//! The `OpenAPI` document, which is served, and which requests are checked against.
//!
//! `openapi.yaml` is written by hand. `build.rs` makes `openapi.json` of it for programs.

use std::sync::LazyLock;

use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use serde_json::Value;

use crate::request::schema::Schema;
use crate::route::Format;

/// The document as written.
pub(crate) const YAML: &str = include_str!("../../openapi.yaml");

/// The document in JSON.
pub(crate) const JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

pub(crate) static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(JSON).expect("build.rs has written it"));

/// The schema `name` of the document.
pub(crate) fn schema(name: &str) -> Schema<'static> {
    Schema::component(&DOCUMENT, name)
}

/// The document itself.
pub(crate) fn answer(format: Format) -> Response {
    let (content_type, text) = match format {
        Format::Json => ("application/json", JSON),
        Format::Yaml => ("application/yaml", YAML),
    };
    (StatusCode::OK, [(header::CONTENT_TYPE, content_type)], text).into_response()
}

#[cfg(test)]
mod tests;
