//! Generates `src/gen` from `proto/` with a compiler in Rust and fails if that changed anything.
//! After an edit of a `.proto` file run this test twice: the first run writes, the second passes.

mod calls;
mod json;
mod options;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message as _;

fn proto_files(below: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![below.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "proto")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(&path).unwrap())
        })
        .collect()
}

#[test]
fn generated_files_are_up_to_date() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.join("../../proto");
    let committed = package.join("src/gen");
    let fresh = tempfile::tempdir().unwrap();

    let mut compiler = protox::Compiler::new([&root]).unwrap();
    compiler.include_imports(true).include_source_info(true);
    compiler.open_files(proto_files(&root)).unwrap();
    let builder = tonic_prost_build::configure()
        .btree_map(".")
        .client_mod_attribute(".", "#[cfg(feature = \"grpc\")]")
        .server_mod_attribute(".", "#[cfg(feature = \"grpc\")]")
        .out_dir(fresh.path());
    let mut descriptors = options::without_options(compiler.file_descriptor_set());
    let pool = compiler.descriptor_pool();
    json::with_json(builder, &pool)
        .compile_fds(descriptors.clone())
        .unwrap();
    fs::write(fresh.path().join("calls.rs"), calls::table(&pool)).unwrap();
    for file in &mut descriptors.file {
        file.source_code_info = None;
    }
    fs::write(
        fresh.path().join("descriptors.bin"),
        descriptors.encode_to_vec(),
    )
    .unwrap();

    let mut generated = contents(fresh.path());
    generated.retain(|name, _| !name.starts_with("google."));
    if generated != contents(&committed) {
        for (name, bytes) in &generated {
            fs::write(committed.join(name), bytes).unwrap();
        }
        panic!(
            "the files in {} were out of date and are written anew; commit them",
            committed.display()
        );
    }
}
