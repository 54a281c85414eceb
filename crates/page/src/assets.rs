//! The stylesheet and the scripts, with a digest in their names.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

use crate::site::Site;

/// A file that browsers keep for ever under its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    pub content_type: &'static str,
    pub content: &'static str,
}

/// The files. Scripts import each other by relative addresses, so all of them are below one digest.
const FILES: [(&str, Asset); 6] = [
    ("page.css", styles(include_str!("../assets/page.css"))),
    ("live.js", script(include_str!("../assets/live.js"))),
    ("morph.js", script(include_str!("../assets/morph.js"))),
    ("keys.js", script(include_str!("../assets/keys.js"))),
    ("log.js", script(include_str!("../assets/log.js"))),
    ("form.js", script(include_str!("../assets/form.js"))),
];

const fn styles(content: &'static str) -> Asset {
    Asset {
        content_type: "text/css; charset=utf-8",
        content,
    }
}

const fn script(content: &'static str) -> Asset {
    Asset {
        content_type: "text/javascript; charset=utf-8",
        content,
    }
}

/// Digest of all files.
static DIGEST: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    for (name, asset) in FILES {
        digest.update(name);
        digest.update(asset.content);
    }
    let digest: [u8; 32] = digest.finalize().into();
    let [a, b, c, d, ..] = digest;
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
});

/// The asset at `path`, such as `assets/00112233/page.css`.
pub fn asset(path: &str) -> Option<Asset> {
    let (digest, name) = path.strip_prefix("assets/")?.split_once('/')?;
    let known = FILES.iter().find(|(known, _)| *known == name);
    known.filter(|_| digest == *DIGEST).map(|(_, asset)| *asset)
}

/// The address of the asset with this name.
pub(crate) fn address_of(site: &Site, name: &str) -> String {
    format!("{}assets/{}/{name}", site.prefix, *DIGEST)
}
