//! Reading the files.

use std::fs;
use std::io::{self, Read as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use crate::contents::Contents;
use crate::error::TlsError;
use crate::files::{Authorities, Files};

impl Files {
    /// Reads them all. Nothing is understood yet.
    pub async fn read(&self) -> Result<Contents, TlsError> {
        let files = self.clone();
        match spawn_blocking(move || files.read_now()).await {
            Ok(contents) => contents,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(cancelled) => Err(TlsError::Read {
                    path: PathBuf::new(),
                    source: io::Error::other(cancelled),
                }),
            },
        }
    }

    /// Reads the files, for callers that may block.
    pub fn read_now(&self) -> Result<Contents, TlsError> {
        let mut authorities = Vec::new();
        if let Some(given) = &self.authorities {
            for path in files_of(given)? {
                let content = read(&path)?;
                authorities.push((path, content));
            }
        }
        let identity = match &self.identity {
            Some(files) => Some((read(&files.cert)?, read(&files.key)?)),
            None => None,
        };
        Ok(Contents::new(self.clone(), authorities, identity))
    }
}

fn files_of(authorities: &Authorities) -> Result<Vec<PathBuf>, TlsError> {
    match authorities {
        Authorities::File(path) => Ok(vec![path.clone()]),
        Authorities::Directory(directory) => files_below(directory),
    }
}

/// No certificate, and no collection of authorities, is larger.
const MAXIMUM_SIZE: u64 = 16 << 20;

/// Something other than a file, such as a pipe or a device, may have no end or never begin.
fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::Read {
        path: path.to_owned(),
        source,
    };
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(MAXIMUM_SIZE + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAXIMUM_SIZE {
        return Err(failed(io::Error::other("larger than 16 MiB")));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, source: io::Error) -> TlsError {
    TlsError::Read {
        path: path.to_owned(),
        source,
    }
}

/// In the order of their names, so that the same files are always the same contents.
fn files_below(root: &Path) -> Result<Vec<PathBuf>, TlsError> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        let failed = |error| unreadable(&directory, error);
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            if entry.file_type().map_err(failed)?.is_dir() {
                directories.push(path);
            } else if !path.is_dir() {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_directory_stands_for_every_file_below_it_and_circles_do_not_matter() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("b/c")).unwrap();
        for name in ["z.pem", "b/c/x", "a"] {
            fs::write(path(name), name).unwrap();
        }
        symlink(root.path(), path("b/circle")).unwrap();
        symlink(path("a"), path("b/link")).unwrap();
        let found = files_below(root.path()).unwrap();
        assert_eq!(found, ["a", "b/c/x", "b/link", "z.pem"].map(path));
    }
}
