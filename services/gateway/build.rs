//! Makes `openapi.json`, the form of `openapi.yaml` for programs.

use std::error::Error;
use std::path::PathBuf;

#[expect(clippy::disallowed_methods, reason = "Cargo names the directory so")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=openapi.yaml");
    let directory = PathBuf::from(std::env::var("OUT_DIR")?);
    let yaml = std::fs::read_to_string("openapi.yaml")?;
    let document: serde_json::Value =
        serde_norway::from_str(&yaml).map_err(|error| format!("openapi.yaml: {error}"))?;
    let json = serde_json::to_string_pretty(&document)? + "\n";
    std::fs::write(directory.join("openapi.json"), json)?;
    Ok(())
}
