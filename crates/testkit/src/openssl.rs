//! Certificates as made with `openssl`.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::certificates::KeyPairFiles;

/// A directory with certificates and keys that `openssl` has made. The common name of each is the stem of its
/// files' names.
#[derive(Debug)]
pub struct Openssl(TempDir);

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA with 2,048 bits.
    Rsa,
    /// A key of the curve P-256.
    Ec,
}

impl Openssl {
    /// An empty directory.
    pub fn new() -> Self {
        Self(TempDir::new().expect("there is room for a directory"))
    }

    /// Where the files are.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// `openssl req -x509`: certificate and authority in one, `CA:TRUE` unless an extension says otherwise.
    /// Extensions are written as for `-addext`.
    pub fn self_signed(&self, stem: &str, kind: KeyKind, extensions: &[&str]) -> KeyPairFiles {
        let files = self.files(stem);
        let subject = format!("/CN={stem}");
        let mut command = self.command(&["req", "-x509", "-nodes", "-days", "30"]);
        command.args(new_key(kind)).args(["-subj", &subject]);
        command.arg("-keyout").arg(&files.key);
        command.arg("-out").arg(&files.cert);
        for extension in extensions {
            command.args(["-addext", extension]);
        }
        run(&mut command);
        files
    }

    /// A certificate that `issuer` signs, with these extensions only.
    pub fn signed_by(
        &self,
        issuer: &KeyPairFiles,
        stem: &str,
        extensions: &[&str],
    ) -> KeyPairFiles {
        let files = self.files(stem);
        let request = self.request(stem, &files);
        let mut command = self.command(&["x509", "-req", "-days", "30", "-CAcreateserial"]);
        command.arg("-in").arg(request).arg("-out").arg(&files.cert);
        command.arg("-CA").arg(&issuer.cert);
        command.arg("-CAkey").arg(&issuer.key);
        command.arg("-extfile").arg(self.lines(stem, extensions));
        run(&mut command);
        files
    }

    /// As [`Openssl::self_signed`], over since the end of the year 2020.
    pub fn expired(&self, stem: &str, extensions: &[&str]) -> KeyPairFiles {
        let files = self.files(stem);
        let request = self.request(stem, &files);
        let settings = self.lines(
            "ca",
            &[
                "[ca]",
                "default_ca=past",
                "[past]",
                "database=index.txt",
                "new_certs_dir=.",
                "serial=serial",
                "default_md=sha256",
                "policy=any",
                "[any]",
                "commonName=supplied",
            ],
        );
        std::fs::write(self.path().join("index.txt"), "").expect("the directory is writable");
        let mut command = self.command(&["ca", "-batch", "-notext", "-selfsign", "-create_serial"]);
        command.args([
            "-startdate",
            "20200101000000Z",
            "-enddate",
            "20201231000000Z",
        ]);
        command.arg("-config").arg(settings).arg("-in").arg(request);
        command.arg("-keyfile").arg(&files.key);
        command.arg("-out").arg(&files.cert);
        command.arg("-extfile").arg(self.lines(stem, extensions));
        run(&mut command);
        files
    }

    /// Certificates one after the other in a file.
    pub fn chain(&self, name: &str, certificates: &[&Path]) -> PathBuf {
        let mut all = Vec::new();
        for path in certificates {
            all.extend(std::fs::read(path).expect("it was made"));
        }
        let path = self.path().join(name);
        std::fs::write(&path, all).expect("the directory is writable");
        path
    }

    fn files(&self, stem: &str) -> KeyPairFiles {
        KeyPairFiles {
            cert: self.path().join(format!("{stem}.pem")),
            key: self.path().join(format!("{stem}-key.pem")),
        }
    }

    fn request(&self, stem: &str, files: &KeyPairFiles) -> PathBuf {
        let request = self.path().join(format!("{stem}.csr"));
        let subject = format!("/CN={stem}");
        let mut command = self.command(&["req", "-nodes", "-subj", &subject]);
        command.args(new_key(KeyKind::Rsa));
        command.arg("-keyout").arg(&files.key);
        command.arg("-out").arg(&request);
        run(&mut command);
        request
    }

    fn lines(&self, stem: &str, lines: &[&str]) -> PathBuf {
        let path = self.path().join(format!("{stem}.cnf"));
        std::fs::write(&path, lines.join("\n")).expect("the directory is writable");
        path
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "it takes milliseconds, and tests need the files before anything else"
    )]
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(self.path());
        command
    }
}

impl Default for Openssl {
    fn default() -> Self {
        Self::new()
    }
}

fn new_key(kind: KeyKind) -> &'static [&'static str] {
    match kind {
        KeyKind::Rsa => &["-newkey", "rsa:2048"],
        KeyKind::Ec => &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    }
}

fn run(command: &mut Command) {
    output(command);
}

/// Runs the command to its end and returns what it prints.
pub(crate) fn output(command: &mut Command) -> Vec<u8> {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run openssl: {error}: run scripts/setup"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}
