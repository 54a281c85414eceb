//! Files of a release over HTTP.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Client, Response, StatusCode, redirect};
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use crate::checksums::Sum;
use crate::error::{FileError, ReleaseError};

/// A site that cannot be reached is given up after this time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Most redirects in a row; the site of OpenTofu redirects, too.
const MOST_REDIRECTS: usize = 5;

/// How often the log shows the progress of a long download.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// A client that gives up on a site that sends nothing for `silence`.
pub(crate) fn client(silence: Duration) -> Result<Client, ReleaseError> {
    Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(silence)
        .redirect(redirect::Policy::custom(|attempt| {
            let from = attempt.previous().first();
            let is_downgrade = from.is_some_and(|url| url.scheme() == "https")
                && attempt.url().scheme() != "https";
            if is_downgrade {
                attempt.error("a redirect from https to plain http")
            } else if attempt.previous().len() > MOST_REDIRECTS {
                attempt.error("too many redirects")
            } else {
                attempt.follow()
            }
        }))
        // A file that is named by a checksum is taken as it is.
        .no_gzip()
        .user_agent(concat!("cts/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(ReleaseError::Client)
}

/// A small file; `None` if the site has no file of that name.
pub(crate) async fn small_file(
    client: &Client,
    url: &str,
    limit: u64,
) -> Result<Option<Vec<u8>>, ReleaseError> {
    let Some(mut response) = get(client, url).await? else {
        return Ok(None);
    };
    refuse_large(&response, url, limit)?;
    let mut content = Vec::new();
    while let Some(chunk) = next_chunk(&mut response, url).await? {
        content.extend_from_slice(&chunk);
        if content.len() as u64 > limit {
            return Err(too_large(url, limit));
        }
    }
    Ok(Some(content))
}

/// Writes a file to `path`, which is empty, and gives its sum.
pub(crate) async fn large_file(
    client: &Client,
    url: &str,
    path: &Path,
    limit: u64,
) -> Result<Sum, ReleaseError> {
    let response = get(client, url).await?;
    let mut response = response.ok_or_else(|| ReleaseError::Status {
        url: url.to_owned(),
        status: StatusCode::NOT_FOUND,
    })?;
    refuse_large(&response, url, limit)?;
    let unwritten = || FileError::of("write", path);
    let file = File::options().write(true).open(path).await;
    let mut file = file.map_err(unwritten())?;
    let total = response.content_length();
    let (mut received, mut hasher) = (0, Sha256::new());
    let mut said = Instant::now();
    while let Some(chunk) = next_chunk(&mut response, url).await? {
        received += chunk.len() as u64;
        if received > limit {
            return Err(too_large(url, limit));
        }
        hasher.update(&chunk);
        file.write_all(&chunk).await.map_err(unwritten())?;
        if said.elapsed() >= PROGRESS_EVERY {
            said = Instant::now();
            tracing::info!(
                target: "driver.terraform",
                url,
                received_mib = received >> 20,
                total_mib = total.map(|total| total >> 20),
                "downloading"
            );
        }
    }
    file.flush().await.map_err(unwritten())?;
    Ok(hasher.finalize().into())
}

async fn get(client: &Client, url: &str) -> Result<Option<Response>, ReleaseError> {
    let response = client.get(url).send().await.map_err(unreachable(url))?;
    match response.status() {
        StatusCode::OK => Ok(Some(response)),
        StatusCode::NOT_FOUND => Ok(None),
        status => Err(ReleaseError::Status {
            url: url.to_owned(),
            status,
        }),
    }
}

async fn next_chunk(response: &mut Response, url: &str) -> Result<Option<Bytes>, ReleaseError> {
    response.chunk().await.map_err(unreachable(url))
}

fn refuse_large(response: &Response, url: &str, limit: u64) -> Result<(), ReleaseError> {
    match response.content_length() {
        Some(length) if length > limit => Err(too_large(url, limit)),
        _ => Ok(()),
    }
}

fn too_large(url: &str, limit: u64) -> ReleaseError {
    ReleaseError::TooLarge {
        url: url.to_owned(),
        limit,
    }
}

fn unreachable(url: &str) -> impl FnOnce(reqwest::Error) -> ReleaseError {
    let url = url.to_owned();
    move |failure| ReleaseError::Unreachable {
        url,
        failure: failure.without_url(),
    }
}
