//! The token that requests carry (docs/access.md#tokens).

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use reqwest::header::HeaderValue;

/// Longest file with a token, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

/// A bearer token. Neither `Debug` nor errors show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Where the token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// The first line of this file, which is not read yet.
    File(PathBuf),
    /// The variable `CTS_TOKEN`.
    Variable(Token),
}

/// There is no token where one was named.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("the file {} of -token-file cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Other users may read the file.
    #[error("the file {} of -token-file is open to others (mode {mode:o}): `chmod 600` it", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Its first line is empty, or has blanks or other characters that no token has.
    #[error("the first line of {} (-token-file) is no token", path.display())]
    NoToken {
        /// The file.
        path: PathBuf,
    },
    /// The variable has characters that no token has.
    #[error("the value of CTS_TOKEN is no token")]
    Variable,
}

impl TokenSource {
    /// The file before the variable; an empty path and an empty variable are none.
    pub fn of(file: Option<&Path>, variable: Option<&str>) -> Option<Self> {
        let file = file.filter(|path| !path.as_os_str().is_empty());
        if let Some(path) = file {
            return Some(Self::File(path.to_owned()));
        }
        let text = variable.map(str::trim).filter(|text| !text.is_empty())?;
        Some(Self::Variable(Token(text.to_owned())))
    }

    /// The token.
    ///
    /// # Errors
    ///
    /// The file cannot be used, or what it or the variable has is no token.
    pub fn read(&self) -> Result<Token, TokenError> {
        match self {
            Self::File(path) => read_file(path),
            Self::Variable(token) if is_token(&token.0) => Ok(token.clone()),
            Self::Variable(_) => Err(TokenError::Variable),
        }
    }
}

impl Token {
    /// The value of the header, or of the metadata, `authorization`. It is secret.
    pub fn authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// The value of the header, which the HTTP library shows to no other host and in no log.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&self.authorization()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

fn read_file(path: &Path) -> Result<Token, TokenError> {
    let failed = |source| TokenError::Read {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(TokenError::Open {
            path: path.to_owned(),
            mode,
        });
    }
    let mut content = Vec::new();
    file.take(LONGEST_FILE)
        .read_to_end(&mut content)
        .map_err(failed)?;
    let line = content.split(|byte| *byte == b'\n').next();
    let line = line.and_then(|line| std::str::from_utf8(line).ok());
    match line.map(str::trim).filter(|line| is_token(line)) {
        Some(line) => Ok(Token(line.to_owned())),
        None => Err(TokenError::NoToken {
            path: path.to_owned(),
        }),
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(content: &str, mode: u32) -> Result<Token, TokenError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        TokenSource::of(Some(&path), Some("cts_variable"))
            .unwrap()
            .read()
    }

    #[test]
    fn a_token_is_the_first_line_of_a_file_that_others_cannot_read() {
        for content in ["cts_a", "cts_a\n", " cts_a \r\ncts_b\n"] {
            let token = read(content, 0o600).unwrap();
            assert_eq!(token.authorization(), "Bearer cts_a", "{content:?}");
        }
        for content in ["", "\ncts_a", "cts_a b", "cts_é", "\u{0}"] {
            let error = read(content, 0o400).unwrap_err();
            assert!(matches!(error, TokenError::NoToken { .. }), "{error}");
        }
        for mode in [0o640, 0o604, 0o644, 0o660] {
            let error = read("cts_secret", mode).unwrap_err().to_string();
            assert!(error.contains(&format!("mode {mode:o}")), "{error}");
            assert!(!error.contains("cts_secret"), "{error}");
        }
    }

    #[test]
    fn an_empty_variable_is_none_and_a_wrong_one_is_not_shown() {
        assert_eq!(TokenSource::of(None, None), None);
        assert_eq!(TokenSource::of(Some(Path::new("")), Some(" ")), None);
        let source = TokenSource::of(None, Some("cts_secret\n")).unwrap();
        assert_eq!(source.read().unwrap().authorization(), "Bearer cts_secret");
        assert!(!format!("{source:?}").contains("secret"));
        let wrong = TokenSource::of(None, Some("cts_ secret")).unwrap();
        let error = wrong.read().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
