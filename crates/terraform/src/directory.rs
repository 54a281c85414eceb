//! The directory of one task (docs/terraform.md#the-task-directory).

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use cts_core::hidden::secret_places;
use cts_core::{Chain, GENERATED_NOTICE};

use crate::error::FileError;
use crate::render::{GeneratedFile, OUTPUTS_TF, RootModule};
use crate::scratch::remove_left;

/// Mode of a task directory and of the parents that are created with it.
const DIRECTORY_MODE: u32 = 0o750;

/// Mode of generated files.
const FILE_MODE: u32 = 0o640;

/// Mode of a task directory with a permanent file that has a secret in it.
const SECRET_DIRECTORY_MODE: u32 = 0o700;

/// Mode of files with credentials.
const SECRET_FILE_MODE: u32 = 0o600;

/// Files that only a task with variables or outputs has; the last file is written later than the others.
const OPTIONAL_FILES: [&str; 3] = ["variables.module.tf", "variables.auto.tfvars", OUTPUTS_TF];

/// The directory of one task's root module. At most one process works in this directory at any time.
///
/// The functions here block, for the time that reading and writing a few small files takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskDirectory {
    path: PathBuf,
}

impl TaskDirectory {
    /// The directory `path`, which is relative to `start_directory` if it is not absolute. Nothing
    /// is created yet.
    pub fn new(path: impl AsRef<Path>, start_directory: &Path) -> Self {
        Self {
            path: start_directory.join(path),
        }
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Brings the generated files of the configuration up to date, the directory first. Files that already
    /// have the wanted text are not touched; files that only an earlier configuration of cts needed are
    /// removed.
    pub fn write_root(&self, root: &RootModule) -> Result<Vec<&'static str>, FileError> {
        self.create()?;
        let mut overwritten = Vec::new();
        let holds_secrets = |file: &GeneratedFile| !secret_places(&file.contents).is_empty();
        if root.files.iter().any(holds_secrets) {
            // Terraform keeps the source of a module, too, and cts does not set the modes of Terraform's own
            // files.
            fs::set_permissions(&self.path, Permissions::from_mode(SECRET_DIRECTORY_MODE))
                .map_err(FileError::of("change the mode of", &self.path))?;
        }
        for file in &root.files {
            let path = self.path.join(file.name);
            if file.secret {
                write_secret(&path, &file.contents)?;
            } else if file.private || holds_secrets(file) {
                write_private_if_different(&path, &file.contents)?;
            } else {
                let existed = path.exists();
                if write_if_different(&path, &file.contents)? && existed {
                    overwritten.push(file.name);
                }
            }
        }
        for name in OPTIONAL_FILES {
            if root.file(name).is_none() {
                remove_generated(&self.path.join(name))?;
            }
        }
        Ok(overwritten)
    }

    /// Creates the directory, and removes what a kill has left of a state in it.
    pub fn create(&self) -> Result<(), FileError> {
        DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(&self.path)
            .map_err(FileError::of("create", &self.path))?;
        remove_left(&self.path)
    }

    /// The files of `root` with credentials; to be called before they are written.
    pub fn secrets_of(&self, root: &RootModule) -> SecretFiles {
        let files = root.files.iter().chain(&root.backend_credentials);
        let secret = files.filter(|file| file.secret);
        SecretFiles(secret.map(|file| self.path.join(file.name)).collect())
    }

    /// Brings `terraform.tfvars` up to date; returns whether it was different.
    pub fn write_tfvars(&self, text: &str) -> Result<bool, FileError> {
        write_if_different(&self.path.join("terraform.tfvars"), text)
    }
}

/// Files with credentials, which are removed when this is dropped.
#[derive(Debug)]
#[must_use = "the files are removed when it is dropped"]
pub struct SecretFiles(Vec<PathBuf>);

impl Drop for SecretFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            if let Err(error) = remove_if_present(path) {
                tracing::warn!(error = %Chain(&error), "a file with credentials is left behind");
            }
        }
    }
}

/// Makes `text` the content of a file, unless it already is; returns whether the file was different.
///
/// Written in place and without fsync: a file that a kill or a power loss leaves torn differs from the text
/// that the next run wants, and is written again before Terraform sees it. (A rename over the old file costs
/// half a millisecond on the way of a change, because file systems flush it.)
pub(crate) fn write_if_different(path: &Path, text: &str) -> Result<bool, FileError> {
    match fs::read(path) {
        Ok(bytes) if bytes == text.as_bytes() => return Ok(false),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(FileError::of("read", path)(error)),
    }
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_len(text.len() as u64)
        });
    written.map_err(FileError::of("write", path)).map(|()| true)
}

/// Makes `text` the content of a file that only its owner may read, unless it already is.
fn write_private_if_different(path: &Path, text: &str) -> Result<(), FileError> {
    make_secret(path)?;
    match fs::read(path) {
        Ok(bytes) if bytes == text.as_bytes() => Ok(()),
        Ok(_) | Err(_) => write_secret(path, text),
    }
}

/// Writes a new file that only its owner may read.
pub(crate) fn write_secret(path: &Path, content: impl AsRef<[u8]>) -> Result<(), FileError> {
    let written = create_secret(path)?.write_all(content.as_ref());
    written.map_err(FileError::of("write", path))
}

/// Makes a new file that only its owner may read. An existing file of that name is removed first, so that no
/// symbolic link is followed.
pub(crate) fn create_secret(path: &Path) -> Result<File, FileError> {
    remove_if_present(path)?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(SECRET_FILE_MODE)
        .open(path)
        .map_err(FileError::of("write", path))
}

/// Makes a file readable only by its owner, if it exists.
pub(crate) fn make_secret(path: &Path) -> Result<(), FileError> {
    match fs::set_permissions(path, Permissions::from_mode(SECRET_FILE_MODE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::of("change the mode of", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes a file, if cts has written it.
fn remove_generated(path: &Path) -> Result<(), FileError> {
    match fs::read(path) {
        Ok(bytes) if bytes.starts_with(GENERATED_NOTICE.as_bytes()) => {
            fs::remove_file(path).map_err(FileError::of("remove", path))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FileError::of("read", path)(error)),
    }
}

/// Removes a file if it exists.
pub(crate) fn remove_if_present(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::of("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
