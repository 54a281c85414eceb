//! Files that hold one token.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Far more than any token has; what is larger is another file.
const MAXIMUM_SIZE: u64 = 1 << 16;

/// The content of the file without surrounding blanks.
pub(crate) fn read_token(path: &Path) -> io::Result<String> {
    let mut content = String::new();
    let length = File::open(path)?
        .take(MAXIMUM_SIZE + 1)
        .read_to_string(&mut content)?;
    if length as u64 > MAXIMUM_SIZE {
        return Err(io::Error::other("it is too large for a token"));
    }
    Ok(content.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_token_is_trimmed_and_not_endless() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("token");
        fs::write(&path, "\t s.x\r\n").unwrap();
        assert_eq!(read_token(&path).unwrap(), "s.x");
        fs::write(&path, "x".repeat(1 << 16)).unwrap();
        assert_eq!(read_token(&path).unwrap().len(), 1 << 16);
        let error = read_token(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it is too large for a token");
    }
}
