//! The hash that names a bundle.

use cts_core::Digest;

/// Part of every hash, so that a different way of hashing gives different names.
const FORMAT: &[u8] = b"cts-bundle-1";

/// Collects the entries of a bundle, in the order of their paths' bytes.
///
/// A file counts by path, content and whether it can be executed, a directory by its path. The archive
/// itself is not hashed: another release of the compressor may give other bytes for the same content.
#[derive(Debug)]
pub(crate) struct ContentHasher {
    parts: Vec<Vec<u8>>,
}

impl ContentHasher {
    pub(crate) fn new() -> Self {
        Self {
            parts: vec![FORMAT.to_vec()],
        }
    }

    pub(crate) fn directory(&mut self, path: &[u8]) {
        self.parts.push(b"directory".to_vec());
        self.parts.push(path.to_vec());
    }

    pub(crate) fn file(&mut self, path: &[u8], executable: bool, content: Digest) {
        let kind: &[u8] = if executable { b"executable" } else { b"file" };
        self.parts.push(kind.to_vec());
        self.parts.push(path.to_vec());
        self.parts.push(content.to_string().into_bytes());
    }

    pub(crate) fn finish(&self) -> Digest {
        Digest::of_parts(self.parts.iter().map(Vec::as_slice))
    }
}
