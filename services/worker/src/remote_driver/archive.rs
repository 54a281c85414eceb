//! The archive that a configuration version is made of (docs/hcp-terraform.md#what-is-uploaded).

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cts_terraform::GeneratedFile;
use flate2::Compression;
use flate2::write::GzEncoder;
use ignore::WalkBuilder;
use tar::{Builder, EntryType, Header};

/// A file with more rules about files that are left out, as Terraform has it.
const IGNORE_FILE: &str = ".terraformignore";

/// Suffixes of files with values: Terraform does not read such files in a called module, and they may contain secrets.
const VALUES: [&str; 2] = [".tfvars", ".tfvars.json"];

/// The archive cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    #[error("cannot read the module")]
    Walk(#[from] ignore::Error),
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot pack the module")]
    Pack(#[from] io::Error),
    #[error("the module and its root module have more than {limit} bytes when they are packed")]
    TooLarge { limit: usize },
}

/// Packs generated files and the content of a module's bundle, which is put below `place`. Equal content makes
/// equal archives. Reads files.
pub(crate) fn pack(
    files: &[GeneratedFile],
    bundle: Option<(&Path, &str)>,
    limit: usize,
) -> Result<Vec<u8>, ArchiveError> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for file in files {
        let content = file.contents.as_bytes();
        archive.append_data(&mut header(content.len() as u64, false), file.name, content)?;
    }
    if let Some((root, place)) = bundle {
        pack_bundle(&mut archive, root, Path::new(place), limit)?;
    }
    let mut compressed = archive.into_inner()?;
    compressed.flush()?;
    let bytes = compressed.finish()?;
    if bytes.len() > limit {
        return Err(ArchiveError::TooLarge { limit });
    }
    Ok(bytes)
}

fn pack_bundle(
    archive: &mut Builder<GzEncoder<Vec<u8>>>,
    root: &Path,
    place: &Path,
    limit: usize,
) -> Result<(), ArchiveError> {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .sort_by_file_name(Ord::cmp);
    for entry in walk.build() {
        let entry = entry?;
        let path = entry.path();
        // A bundle has directories and files only.
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let name = entry.file_name().to_string_lossy();
        if !is_file || VALUES.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let unreadable = |source| ArchiveError::Read {
            path: path.to_owned(),
            source,
        };
        let inside = path.strip_prefix(root).unwrap_or(path);
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let mut header = header(metadata.len(), is_executable(&metadata));
        archive.append_data(&mut header, place.join(inside), file)?;
        if archive.get_ref().get_ref().len() > limit {
            return Err(ArchiveError::TooLarge { limit });
        }
    }
    Ok(())
}

fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    metadata.permissions().mode() & 0o100 != 0
}

/// The header of a file: no owner, no time.
fn header(size: u64, executable: bool) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(size);
    header.set_mode(if executable { 0o755 } else { 0o644 });
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;

    use flate2::read::GzDecoder;
    use tar::Archive;

    use super::*;

    const LIMIT: usize = 1 << 20;

    fn unpacked(bytes: &[u8]) -> BTreeMap<String, (u32, String)> {
        let mut archive = Archive::new(GzDecoder::new(bytes));
        let entries = archive.entries().unwrap();
        entries
            .map(|entry| {
                let mut entry = entry.unwrap();
                let path = entry.path().unwrap().to_string_lossy().into_owned();
                let mode = entry.header().mode().unwrap();
                let mut text = String::new();
                entry.read_to_string(&mut text).unwrap();
                (path, (mode, text))
            })
            .collect()
    }

    fn file(name: &'static str, contents: &str) -> GeneratedFile {
        GeneratedFile {
            name,
            contents: contents.to_owned(),
            secret: false,
            private: false,
        }
    }

    #[test]
    fn equal_content_makes_equal_archives() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["one", "two"] {
            let root = directory.path().join(name);
            fs::create_dir_all(root.join("sub")).unwrap();
            fs::write(root.join("main.tf"), "module").unwrap();
            fs::write(root.join("sub/run.sh"), "#!/bin/sh").unwrap();
            let executable = fs::Permissions::from_mode(0o700);
            fs::set_permissions(root.join("sub/run.sh"), executable).unwrap();
        }
        let files = [file("main.tf", "root")];
        let [one, two] = ["one", "two"].map(|name| {
            let root = directory.path().join(name);
            pack(&files, Some((&root, "modules/edge")), LIMIT).unwrap()
        });
        assert_eq!(one, two);
        let of = |mode, text: &str| (mode, text.to_owned());
        assert_eq!(
            unpacked(&one),
            BTreeMap::from([
                ("main.tf".to_owned(), of(0o644, "root")),
                ("modules/edge/main.tf".to_owned(), of(0o644, "module")),
                ("modules/edge/sub/run.sh".to_owned(), of(0o755, "#!/bin/sh")),
            ])
        );
    }

    #[test]
    fn values_and_ignored_files_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in [
            "main.tf",
            "secret.auto.tfvars",
            "a.tfvars.json",
            "notes.md",
            "b.md",
        ] {
            fs::write(root.join(name), name).unwrap();
        }
        fs::write(root.join(IGNORE_FILE), "*.md\n!b.md\n").unwrap();
        let packed = unpacked(&pack(&[], Some((root, "m")), LIMIT).unwrap());
        let names: Vec<_> = packed.keys().map(String::as_str).collect();
        assert_eq!(names, ["m/.terraformignore", "m/b.md", "m/main.tf"]);
    }

    #[test]
    fn an_archive_is_limited() {
        let directory = tempfile::tempdir().unwrap();
        let noise: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..))
            .take(1 << 16)
            .collect();
        fs::write(directory.path().join("noise"), noise).unwrap();
        let packed = pack(&[], Some((directory.path(), "m")), 1 << 12);
        assert!(matches!(packed, Err(ArchiveError::TooLarge { .. })));
    }
}
