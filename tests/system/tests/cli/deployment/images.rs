//! The names of images, and the script that renews their digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use cts_testkit::assert_contains;
use regex::Regex;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::{deploy, read};
use crate::cli::calls::Place;

/// An index for several machine types, and its SHA-256.
const INDEX: &str =
    r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}"#;
const INDEX_DIGEST: &str = "dff9de10919148711140d349bf03f1a99eb06f94b03e51715ccebfa7cdc518e2";
/// A manifest of one image, and its SHA-256.
const MANIFEST: &str = r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},"layers":[]}"#;
const MANIFEST_DIGEST: &str = "f20c43161d73848408ef247f0ec7111b19fe58ffebc0cbcaa0d2c8bda4967268";

/// Names of images without their digests, by their variables.
pub(super) fn names() -> BTreeMap<String, String> {
    let text = read("docker/images.env");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once('=').unwrap());
    let names = pairs.map(|(variable, image)| {
        let name = image.split('@').next().unwrap();
        (variable.to_owned(), name.to_owned())
    });
    names.collect()
}

#[test]
fn the_image_is_built_with_the_pinned_toolchain_and_a_pinned_terraform() {
    let dockerfile = read("docker/Dockerfile");
    let toolchain = read("../rust-toolchain.toml");
    let channel = Regex::new("channel = \"(.+)\"").unwrap();
    let channel = &channel.captures(&toolchain).unwrap()[1];
    assert_contains(
        &dockerfile,
        [
            format!("rust:{channel}-slim-bookworm"),
            format!("RUSTUP_TOOLCHAIN={channel}"),
        ],
    );
    assert_contains(
        read("docker/images.env"),
        [format!("rust:{channel}-slim-bookworm")],
    );
    let version = Regex::new("ARG ENGINE_VERSION=(.+)").unwrap();
    let version = &version.captures(&dockerfile).unwrap()[1];
    let digests = read("docker/engines.sha256");
    assert_contains(
        &digests,
        ["amd64", "arm64"].map(|machine| format!("terraform_{version}_linux_{machine}.zip")),
    );
}

#[test]
fn every_image_has_its_digest_or_the_file_says_that_it_has_none() {
    let text = read("docker/images.env");
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let with_digest = Regex::new("^[A-Z]+_IMAGE=[^@]+:[^@]+@sha256:[0-9a-f]{64}$").unwrap();
    let digests = lines.iter().filter(|line| with_digest.is_match(line));
    let (digests, images) = (digests.count(), names().len());
    assert_eq!(lines.len(), images);
    let mut states = text.lines().filter(|line| line.starts_with("# State: "));
    let state = states.next().unwrap();
    if state.starts_with("# State: names only.") {
        assert_eq!(digests, 0, "{text}");
    } else {
        assert_eq!(digests, images, "{text}");
        assert!(state.starts_with("# State: digests of 20"), "{state}");
    }
}

/// A registry in plain text on the loopback, in the place of the public one.
struct Registry {
    directory: PathBuf,
    _server: JoinSet<()>,
}

/// The answer of the registry about a name.
fn answer(uri: &Uri) -> Response {
    let json = |kind: &'static str, body: &'static str| {
        ([(header::CONTENT_TYPE, kind)], body).into_response()
    };
    match uri.path() {
        "/v2/" => json("application/json", "{}"),
        "/v2/library/several/manifests/1.0" => {
            json("application/vnd.oci.image.index.v1+json", INDEX)
        }
        "/v2/library/single/manifests/1.0" => {
            json("application/vnd.oci.image.manifest.v1+json", MANIFEST)
        }
        "/v2/library/page/manifests/1.0" => json("text/html", "<html>Log in, please</html>"),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Registry {
    async fn start(place: &Place) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new().fallback(|uri: Uri| async move { answer(&uri) });
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let mirror = format!(
            "[[registry]]\nprefix = \"docker.io\"\nlocation = \"{address}\"\ninsecure = true\n"
        );
        place.write("registries.conf", &mirror);
        Self {
            directory: place.path().to_owned(),
            _server: server,
        }
    }

    /// Runs the script with a file of this content. Returns its output, and the content of the file after it.
    async fn renew(&self, content: &str, options: &[&str]) -> (Output, String) {
        let file = self.directory.join("images.env");
        std::fs::write(&file, content).unwrap();
        let output = run(&self.directory, options, &file).await;
        (output, std::fs::read_to_string(file).unwrap())
    }
}

async fn run(directory: &Path, options: &[&str], file: &Path) -> Output {
    Command::new(deploy().join("../scripts/image-digests"))
        .args(options)
        .arg(file)
        .env(
            "CONTAINERS_REGISTRIES_CONF",
            directory.join("registries.conf"),
        )
        .env("TMPDIR", directory)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap()
}

fn text(stream: &[u8]) -> &str {
    std::str::from_utf8(stream).unwrap()
}

#[tokio::test]
async fn digests_are_those_of_the_manifests_that_the_registry_has() {
    let place = Place::new();
    let registry = Registry::start(&place).await;
    let old = "0".repeat(64);
    let before = format!(
        "# Kept.\n# State: names only.\nA_IMAGE=docker.io/library/several:1.0\n\nB_IMAGE=docker.io/library/single:1.0@sha256:{old}\n"
    );
    let changes = format!(
        "A_IMAGE=docker.io/library/several:1.0@sha256:{INDEX_DIGEST}\nB_IMAGE=docker.io/library/single:1.0@sha256:{MANIFEST_DIGEST}\n"
    );

    let (output, after) = registry.renew(&before, &["--dry-run"]).await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout), changes);
    assert_eq!(after, before);

    let (output, after) = registry.renew(&before, &[]).await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout), changes);
    let state = Regex::new("# State: digests of 20[0-9-]{8}, as the registries had them.").unwrap();
    assert!(state.is_match(&after), "{after}");
    let lines: Vec<_> = after
        .lines()
        .filter(|line| !line.contains("State"))
        .collect();
    let (a, b) = changes.split_once('\n').unwrap();
    assert_eq!(lines, ["# Kept.", a, "", b.trim_end()]);

    let (output, again) = registry.renew(&after, &[]).await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout), "");
    assert_eq!(again.lines().count(), after.lines().count());
}

#[tokio::test]
async fn without_an_answer_for_every_image_the_file_stays() {
    let place = Place::new();
    let registry = Registry::start(&place).await;
    let known = "A_IMAGE=docker.io/library/several:1.0";
    for (line, complaints) in [
        (
            "B_IMAGE=docker.io/library/unknown:1.0",
            [
                "library/unknown:1.0: docker.io gave no manifest",
                "1 of 2 images",
            ],
        ),
        (
            "B_IMAGE=docker.io/library/page:1.0",
            ["library/page:1.0: docker.io ", "1 of 2 images"],
        ),
        (
            "B_IMAGE=localhost/offline/consul:1.22",
            ["localhost/offline/consul:1.22", "was made on this machine"],
        ),
        (
            "B_IMAGE=docker.io/library/single",
            ["names no image", "B_IMAGE=docker.io/library/single"],
        ),
        (
            "B_IMAGE=docker.io/library/single:1.0 # $(touch x)",
            ["names no image", "write NAME_IMAGE="],
        ),
    ] {
        let before = format!("# State: names only.\n{known}\n{line}\n");
        let (output, after) = registry.renew(&before, &[]).await;
        assert_eq!(output.status.code(), Some(1), "{line}: {output:?}");
        assert_contains(text(&output.stderr), complaints);
        assert_eq!(after, before);
    }
    let missing = place.path().join("missing.env");
    let output = run(place.path(), &[], &missing).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_contains(text(&output.stderr), ["there is no file "]);
}
