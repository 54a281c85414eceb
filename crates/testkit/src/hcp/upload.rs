//! Archives of configurations.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, Header};

/// A gzip tar of these files.
pub fn gzip_tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, content) in files {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        let added = archive.append_data(&mut header, name, content.as_bytes());
        added.unwrap_or_else(|error| panic!("{name} cannot be archived: {error}"));
    }
    let written = archive.into_inner().and_then(GzEncoder::finish);
    written.unwrap_or_else(|error| panic!("an archive cannot be written: {error}"))
}

/// Names and contents of an archive's files. A file that cannot be read as text is empty.
pub(super) fn files(content: &[u8]) -> BTreeMap<String, String> {
    let mut archive = Archive::new(GzDecoder::new(content));
    let entries = archive.entries().into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.header().entry_type().is_file());
    let text = files.filter_map(|mut entry| {
        let name = entry.path().ok()?.display().to_string();
        let mut text = String::new();
        let read = entry.read_to_string(&mut text);
        Some((name, read.map(|_| text).unwrap_or_default()))
    });
    text.collect()
}
