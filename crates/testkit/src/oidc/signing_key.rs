//! Keys and signatures of an issuer, made with `openssl`.

use std::fmt::Write as _;
use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::openssl::{Openssl, output};

const KEY: &str = "key.pem";

/// The kind of a key that signs tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningKeyKind {
    /// RSA with so many bits: `RS256` to `RS512` and `PS256` to `PS512`.
    Rsa(u32),
    /// `ES256`.
    P256,
    /// `ES384`.
    P384,
    /// `EdDSA`.
    Ed25519,
}

/// A key that signs tokens.
#[derive(Debug)]
pub struct SigningKey {
    id: String,
    kind: SigningKeyKind,
    openssl: Openssl,
}

impl SigningKey {
    /// A new key with this `kid`.
    pub fn new(id: &str, kind: SigningKeyKind) -> Self {
        let openssl = Openssl::new();
        let mut command = openssl.command(&["genpkey", "-out", KEY]);
        match kind {
            SigningKeyKind::Rsa(bits) => {
                let bits = format!("rsa_keygen_bits:{bits}");
                command.args(["-algorithm", "RSA", "-pkeyopt", &bits])
            }
            SigningKeyKind::P256 => {
                command.args(["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
            }
            SigningKeyKind::P384 => {
                command.args(["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"])
            }
            SigningKeyKind::Ed25519 => command.args(["-algorithm", "ED25519"]),
        };
        output(&mut command);
        Self {
            id: id.to_owned(),
            kind,
            openssl,
        }
    }

    /// The public key, for the set of an issuer.
    pub fn jwk(&self) -> Value {
        let public = self.public(&["-outform", "DER"]);
        let point = |bytes: usize| {
            let (x, y) = public[public.len() - 2 * bytes..].split_at(bytes);
            [x, y].map(encode)
        };
        let mut jwk = match self.kind {
            SigningKeyKind::Rsa(bits) => {
                // A whole modulus, a zero before it, and the exponent 65,537 with its tag behind it.
                let bytes = bits as usize / 8;
                let end = public.len() - 5;
                let modulus = encode(&public[end - bytes..end]);
                json!({"kty": "RSA", "n": modulus, "e": "AQAB"})
            }
            SigningKeyKind::P256 => {
                let [x, y] = point(32);
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y})
            }
            SigningKeyKind::P384 => {
                let [x, y] = point(48);
                json!({"kty": "EC", "crv": "P-384", "x": x, "y": y})
            }
            SigningKeyKind::Ed25519 => {
                let x = encode(&public[public.len() - 32..]);
                json!({"kty": "OKP", "crv": "Ed25519", "x": x})
            }
        };
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        jwk
    }

    /// The public key as PEM.
    pub fn public_pem(&self) -> Vec<u8> {
        self.public(&["-outform", "PEM"])
    }

    /// A token with these claims, signed with this algorithm.
    pub fn token(&self, algorithm: &str, claims: &Value) -> String {
        let header = json!({"alg": algorithm, "kid": self.id, "typ": "JWT"});
        self.token_with(&header, claims)
    }

    /// A token with this header, signed with the algorithm that it names.
    pub fn token_with(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let algorithm = header["alg"].as_str().expect("the header has one");
        let signature = self.sign(algorithm, message.as_bytes());
        format!("{message}.{}", encode(&signature))
    }

    fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let file = NamedTempFile::new_in(self.openssl.path()).expect("the directory is writable");
        fs::write(&file, message).expect("the directory is writable");
        if self.kind == SigningKeyKind::Ed25519 {
            let mut command = self
                .openssl
                .command(&["pkeyutl", "-sign", "-rawin", "-inkey", KEY]);
            return output(command.arg("-in").arg(file.path()));
        }
        let digest = format!("-sha{}", &algorithm[2..]);
        let mut command = self.openssl.command(&["dgst", &digest, "-sign", KEY]);
        if algorithm.starts_with("PS") {
            command.args(["-sigopt", "rsa_padding_mode:pss"]);
            command.args(["-sigopt", "rsa_pss_saltlen:digest"]);
        }
        let signature = output(command.arg(file.path()));
        match self.kind {
            SigningKeyKind::P256 => pair(&signature, 32),
            SigningKeyKind::P384 => pair(&signature, 48),
            _ => signature,
        }
    }

    fn public(&self, form: &[&str]) -> Vec<u8> {
        let mut command = self.openssl.command(&["pkey", "-in", KEY, "-pubout"]);
        output(command.args(form))
    }
}

/// A token that is signed with a shared secret (`HS256`).
pub fn hmac_token(secret: &[u8], header: &Value, claims: &Value) -> String {
    let openssl = Openssl::new();
    let message = message(header, claims);
    let path = openssl.path().join("message");
    fs::write(&path, &message).expect("the directory is writable");
    let mut key = "hexkey:".to_owned();
    for byte in secret {
        write!(key, "{byte:02x}").expect("texts take everything");
    }
    let mut command = openssl.command(&["dgst", "-sha256", "-mac", "HMAC", "-binary"]);
    let signature = output(command.args(["-macopt", &key]).arg(path));
    format!("{message}.{}", encode(&signature))
}

fn message(header: &Value, claims: &Value) -> String {
    let [header, claims] = [header, claims].map(|part| encode(part.to_string().as_bytes()));
    format!("{header}.{claims}")
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The two numbers of a signature in DER, each with so many bytes.
fn pair(der: &[u8], bytes: usize) -> Vec<u8> {
    // A sequence with a short or long length, then two integers with short lengths.
    let mut rest = if der[1] & 0x80 == 0 {
        &der[2..]
    } else {
        &der[3..]
    };
    let mut pair = Vec::new();
    for _ in 0..2 {
        let (number, after) = rest[2..].split_at(usize::from(rest[1]));
        let number = &number[number.len().saturating_sub(bytes)..];
        pair.resize(pair.len() + bytes - number.len(), 0);
        pair.extend_from_slice(number);
        rest = after;
    }
    pair
}
