//! A release site on loopback, with archives and signatures that the test makes.
#![expect(
    clippy::unwrap_used,
    reason = "this is test code: what is not expected fails the test"
)]

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Cursor, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pgp::composed::{
    ArmorOptions, DetachedSignature, KeyType, SecretKeyParamsBuilder, SignedPublicKey,
    SignedSecretKey, SubkeyParamsBuilder,
};
use pgp::crypto::hash::HashAlgorithm;
use pgp::ser::Serialize as _;
use pgp::types::{KeyDetails as _, Password};
use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::ports::free_port;

/// A key that signs releases.
#[derive(Debug)]
pub struct ReleaseKey(SignedSecretKey);

impl ReleaseKey {
    /// A new one, whose primary key signs.
    pub fn generate() -> Self {
        let mut parameters = SecretKeyParamsBuilder::default();
        parameters.can_sign(true);
        Self::of(&mut parameters)
    }

    /// A new one that signs with a subkey, as that of `HashiCorp` does.
    pub fn with_subkey() -> Self {
        let subkey = SubkeyParamsBuilder::default()
            .key_type(KeyType::Ed25519Legacy)
            .can_sign(true)
            .build();
        let mut parameters = SecretKeyParamsBuilder::default();
        parameters.can_sign(false).subkeys(vec![subkey.unwrap()]);
        Self::of(&mut parameters)
    }

    fn of(parameters: &mut SecretKeyParamsBuilder) -> Self {
        let parameters = parameters
            .key_type(KeyType::Ed25519Legacy)
            .can_certify(true)
            .primary_user_id("Tests <tests@example.net>".into())
            .build();
        Self(parameters.unwrap().generate(rand::thread_rng()).unwrap())
    }

    /// The public key, armored.
    pub fn public(&self) -> String {
        let key = SignedPublicKey::from(self.0.clone());
        key.to_armored_string(ArmorOptions::default()).unwrap()
    }

    /// A detached signature of `content`, not armored.
    pub fn sign(&self, content: &[u8]) -> Vec<u8> {
        self.signature(content).to_bytes().unwrap()
    }

    /// A detached signature of `content`, armored.
    pub fn sign_armored(&self, content: &[u8]) -> String {
        let signature = self.signature(content);
        signature
            .to_armored_string(ArmorOptions::default())
            .unwrap()
    }

    /// The end of its fingerprint, as it stands in names of signatures.
    pub fn short_id(&self) -> String {
        let id = self.0.primary_key.legacy_key_id();
        hexadecimal(&id.as_ref()[4..]).to_uppercase()
    }

    fn signature(&self, content: &[u8]) -> DetachedSignature {
        let (password, hash) = (Password::empty(), HashAlgorithm::Sha256);
        let random = rand::thread_rng();
        let signature = if let Some(subkey) = self.0.secret_subkeys.first() {
            DetachedSignature::sign_binary_data(random, &subkey.key, &password, hash, content)
        } else {
            let key = &self.0.primary_key;
            DetachedSignature::sign_binary_data(random, key, &password, hash, content)
        };
        signature.unwrap()
    }
}

/// A zip archive of these files.
pub fn zip_archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let options = SimpleFileOptions::default().unix_permissions(0o755);
        archive.start_file(*name, options).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A zip archive with a link instead of a file.
pub fn zip_archive_with_link(name: &str, target: &str) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    archive.add_symlink(name, target, options).unwrap();
    archive.finish().unwrap().into_inner()
}

/// A shell script that reports to be a version of an engine.
pub fn engine_script(version: &str) -> String {
    format!("#!/bin/sh\necho '{{\"terraform_version\": \"{version}\"}}'\n")
}

/// How much of a file the site sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// All of it.
    Whole,
    /// The connection ends after so many bytes.
    CutAfter(usize),
    /// Nothing more comes after so many bytes.
    StalledAfter(usize),
    /// The file again and again, without an end.
    Endless,
}

/// Serves files over plain HTTP on loopback, until the test ends.
#[derive(Debug, Clone)]
pub struct ReleaseSite {
    url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<String, (Vec<u8>, Delivery)>,
    requests: Vec<String>,
}

impl ReleaseSite {
    /// An empty one.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let site = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            state: Arc::default(),
        };
        let serving = site.clone();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let serving = serving.clone();
                thread::spawn(move || serving.answer(&connection));
            }
        });
        site
    }

    /// One that does not answer.
    pub fn unreachable() -> Self {
        Self {
            url: format!("http://127.0.0.1:{}", free_port()),
            state: Arc::default(),
        }
    }

    /// Its address, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Puts a file there, or takes the place of one.
    pub fn put(&self, path: &str, content: impl Into<Vec<u8>>) {
        let file = (content.into(), Delivery::Whole);
        self.state
            .lock()
            .unwrap()
            .files
            .insert(path.to_owned(), file);
    }

    /// Returns the content of an existing file.
    pub fn content(&self, path: &str) -> Vec<u8> {
        self.state.lock().unwrap().files[path].0.clone()
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        self.state.lock().unwrap().files.remove(path);
    }

    /// Sets how an existing file is sent.
    pub fn deliver(&self, path: &str, delivery: Delivery) {
        self.state.lock().unwrap().files.get_mut(path).unwrap().1 = delivery;
    }

    /// The paths that were asked for, in their order.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Puts a release of Terraform there: its `archive` for this machine, checksums and their signature by `key`.
    pub fn put_terraform(&self, version: &str, archive: &[u8], key: &ReleaseKey) {
        let directory = format!("/terraform/{version}/terraform_{version}");
        self.put_release(&directory, "terraform", version, archive, key, "sig");
    }

    /// Puts a release of OpenTofu there, as `put_terraform` does for Terraform.
    pub fn put_opentofu(&self, version: &str, archive: &[u8], key: &ReleaseKey) {
        let directory = format!("/v{version}/tofu_{version}");
        self.put_release(&directory, "tofu", version, archive, key, "gpgsig");
    }

    fn put_release(
        &self,
        prefix: &str,
        name: &str,
        version: &str,
        archive: &[u8],
        key: &ReleaseKey,
        signature: &str,
    ) {
        let sum = hexadecimal(&Sha256::digest(archive));
        let platform = platform();
        let other = "00".repeat(32);
        let list = format!(
            "{other}  {name}_{version}_plan9_mips.zip\n{sum}  {name}_{version}_{platform}.zip\n"
        );
        self.put(&format!("{prefix}_{platform}.zip"), archive);
        self.put(
            &format!("{prefix}_SHA256SUMS.{signature}"),
            key.sign(list.as_bytes()),
        );
        self.put(&format!("{prefix}_SHA256SUMS"), list);
    }

    fn answer(&self, connection: &TcpStream) {
        let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
        let first = lines.next().unwrap_or_default();
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        if !lines.any(|line| line.is_empty()) {
            return;
        }
        let file = {
            let mut state = self.state.lock().unwrap();
            state.requests.push(path.clone());
            state.files.get(&path).cloned()
        };
        // A client that goes away ends the answer, which is what some tests are about.
        let _sent = match file {
            Some((content, delivery)) => send(connection, &content, delivery),
            None => (&*connection).write_all(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            ),
        };
        let _closed = connection.shutdown(Shutdown::Both);
    }
}

fn send(mut to: &TcpStream, content: &[u8], delivery: Delivery) -> std::io::Result<()> {
    let length = match delivery {
        Delivery::Endless => String::new(),
        _ => format!("Content-Length: {}\r\n", content.len()),
    };
    write!(to, "HTTP/1.1 200 OK\r\n{length}Connection: close\r\n\r\n")?;
    match delivery {
        Delivery::Whole => to.write_all(content),
        Delivery::CutAfter(bytes) => to.write_all(&content[..bytes]),
        Delivery::StalledAfter(bytes) => {
            to.write_all(&content[..bytes])?;
            to.set_read_timeout(Some(Duration::from_mins(5)))?;
            // Until the client goes.
            std::io::copy(&mut to, &mut std::io::sink()).map(drop)
        }
        Delivery::Endless => loop {
            to.write_all(content)?;
        },
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// How files of releases name this machine.
fn platform() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}_{arch}", std::env::consts::OS)
}
