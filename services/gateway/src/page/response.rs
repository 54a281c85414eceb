//! Answers of the page: headers, compression, tags.
//!
//! Compressed answers are safe although a caller can put text of its own into an address: no answer has a secret, such
//! as a token against forged requests, whose bytes the length could give away.

use std::io::Write as _;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types cts",
);
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Marks HTML that the scripts may put into a page.
const FRAGMENT: HeaderName = HeaderName::from_static("cts-fragment");

/// Content type of documents and fragments.
pub(super) const HTML: &str = "text/html; charset=utf-8";

/// Shorter content does not become shorter by compression.
const COMPRESSED_FROM: usize = 512;

/// Content as it is sent, plain and compressed.
#[derive(Debug, Clone)]
pub(super) struct Content {
    kind: &'static str,
    plain: Bytes,
    /// `None` if compression is of no use, or if it lacks keys.
    gzip: Option<Bytes>,
    /// Whether each answer makes keys for its forms.
    lacks_keys: bool,
}

impl Content {
    pub(super) fn new(kind: &'static str, plain: impl Into<Bytes>) -> Self {
        let plain = plain.into();
        let is_html = kind == HTML;
        let lacks_keys = is_html && str::from_utf8(&plain).is_ok_and(cts_page::lacks_keys);
        let gzip = (!lacks_keys).then(|| compressed(&plain));
        Self {
            kind,
            gzip: gzip.flatten(),
            plain,
            lacks_keys,
        }
    }

    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        self.plain.len() + self.gzip.as_ref().map_or(0, Bytes::len)
    }

    /// A tag for equal content, whatever its encoding.
    pub(super) fn tag(&self) -> String {
        let digest: [u8; 32] = Sha256::digest(&self.plain).into();
        let (first, _) = digest.split_at(16);
        let digits = first.iter().map(|byte| format!("{byte:02x}"));
        format!("W/\"{}\"", digits.collect::<String>())
    }

    /// The answer to a request with these headers.
    pub(super) fn answer(&self, status: StatusCode, request: &HeaderMap) -> Response {
        let (mut plain, mut gzip) = (self.plain.clone(), self.gzip.clone());
        let accepts = accepts_gzip(request);
        if self.lacks_keys {
            let html = String::from_utf8_lossy(&self.plain);
            plain = cts_page::with_new_keys(&html, Uuid::new_v4).into();
            gzip = accepts.then(|| compressed(&plain)).flatten();
        }
        let (body, encoding) = match gzip {
            Some(gzip) if accepts => (gzip, Some("gzip")),
            _ => (plain, None),
        };
        let headers = [(CONTENT_TYPE, self.kind), (VARY, "Accept-Encoding")];
        let mut answer = (status, headers, Body::from(body)).into_response();
        if let Some(encoding) = encoding {
            let encoding = HeaderValue::from_static(encoding);
            answer.headers_mut().insert(CONTENT_ENCODING, encoding);
        }
        answer
    }

    /// The answer with a tag; without content if the client has this content already.
    pub(super) fn tagged_answer(&self, request: &HeaderMap) -> Response {
        let tag = self.tag();
        let mut answer = if has_tag(request, &tag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            self.answer(StatusCode::OK, request)
        };
        if let Ok(tag) = HeaderValue::try_from(tag) {
            answer.headers_mut().insert(ETAG, tag);
        }
        answer
    }
}

/// Leads to another address, which is read. An address that no header can have leads to `otherwise`.
pub(super) fn see_other(address: &str, otherwise: &str) -> Response {
    redirect(StatusCode::SEE_OTHER, address, otherwise)
}

/// Leads to another address by the same method for good.
pub(super) fn moved(address: &str, otherwise: &str) -> Response {
    redirect(StatusCode::PERMANENT_REDIRECT, address, otherwise)
}

fn redirect(status: StatusCode, address: &str, otherwise: &str) -> Response {
    let address = if HeaderValue::from_str(address).is_ok() {
        address
    } else {
        otherwise
    };
    (status, [(LOCATION, address)]).into_response()
}

/// Marks HTML that the scripts may put into a page.
pub(super) fn mark_as_fragment(answer: &mut Response) {
    let headers = answer.headers_mut();
    headers.insert(FRAGMENT, HeaderValue::from_static("1"));
}

/// Marks content that never changes under its address.
pub(super) fn mark_as_immutable(answer: &mut Response) {
    answer.headers_mut().insert(CACHE_CONTROL, IMMUTABLE);
}

/// `answer` with the headers that every answer of the page has.
pub(super) fn sealed(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(RESOURCE_POLICY, SAME_ORIGIN);
    headers.insert(REFERRER_POLICY, SAME_ORIGIN);
    let as_it_says = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, as_it_says);
    if headers.get(CACHE_CONTROL) != Some(&IMMUTABLE) {
        headers.insert(CACHE_CONTROL, NO_STORE);
    }
    answer
}

/// Shorter than `plain`; `None` if compression is of no use.
fn compressed(plain: &[u8]) -> Option<Bytes> {
    if plain.len() < COMPRESSED_FROM {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).ok()?;
    let gzip = encoder.finish().ok()?;
    (gzip.len() < plain.len()).then(|| gzip.into())
}

/// The elements of a list in a header.
fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

fn accepts_gzip(request: &HeaderMap) -> bool {
    elements(request, &ACCEPT_ENCODING).any(|element| {
        let (coding, weight) = element.split_once(';').unwrap_or((element, ""));
        let weight = weight.trim().strip_prefix("q=");
        let is_refused = weight.is_some_and(|weight| weight.parse() == Ok(0.0));
        coding.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

/// Whether a request names this weak tag (RFC 9110, 13.1.2: a weak comparison).
fn has_tag(request: &HeaderMap, tag: &str) -> bool {
    let opaque = |tag: &str| tag.trim_start_matches("W/").to_owned();
    elements(request, &IF_NONE_MATCH).any(|known| opaque(known) == opaque(tag))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use axum::body::to_bytes;
    use cts_core::RequestKey;

    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn content_is_compressed_where_that_helps_and_is_accepted() {
        let content = Content::new(HTML, "<p>text</p>".repeat(100));
        for (accepted, expected) in [
            ("gzip", Some("gzip")),
            ("br, GZIP;q=0.5", Some("gzip")),
            ("gzip;q=0", None),
            ("gzip; q=0.0, br", None),
            ("xgzip", None),
            ("", None),
        ] {
            let answer = content.answer(StatusCode::OK, &headers(ACCEPT_ENCODING, accepted));
            let encoding = answer.headers().get(CONTENT_ENCODING);
            let encoding = encoding.map(|encoding| encoding.to_str().unwrap());
            assert_eq!(encoding, expected, "{accepted}");
            assert_eq!(answer.headers()[VARY], "Accept-Encoding");
        }
        let short = Content::new(HTML, "<p>text</p>");
        let answer = short.answer(StatusCode::OK, &headers(ACCEPT_ENCODING, "gzip"));
        assert!(!answer.headers().contains_key(CONTENT_ENCODING));
    }

    #[test]
    fn content_that_the_client_has_is_not_sent_again() {
        let content = Content::new(HTML, "<p>text</p>");
        let tag = content.tag();
        assert_ne!(tag, Content::new(HTML, "<p>other</p>").tag());
        for (known, expected) in [
            (tag.clone(), 304),
            (tag.replace("W/", ""), 304),
            (format!("\"x\", {tag}"), 304),
            ("\"x\"".to_owned(), 200),
            (tag.replace('"', ""), 200),
            ("*".to_owned(), 200),
        ] {
            let mut request = HeaderMap::new();
            request.insert(IF_NONE_MATCH, HeaderValue::try_from(&known).unwrap());
            let answer = content.tagged_answer(&request);
            assert_eq!(answer.status().as_u16(), expected, "{known}");
            assert_eq!(answer.headers()[ETAG], tag.as_str());
        }
    }

    #[tokio::test]
    async fn each_answer_makes_keys_for_its_forms() {
        let form = "<form><input name=\"key\" value=\"\"></form>";
        let content = Content::new(HTML, form.repeat(20));
        assert_eq!(content.tag(), Content::new(HTML, form.repeat(20)).tag());
        let mut keys = HashSet::new();
        for _ in 0..2 {
            let answer = content.answer(StatusCode::OK, &HeaderMap::new());
            let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            let values = str::from_utf8(&body).unwrap().split('"').skip(3).step_by(4);
            keys.extend(values.map(|key| key.parse::<RequestKey>().unwrap()));
        }
        assert_eq!(keys.len(), 40);
        let accepts = headers(ACCEPT_ENCODING, "gzip");
        let answer = content.answer(StatusCode::OK, &accepts);
        assert_eq!(answer.headers()[CONTENT_ENCODING], "gzip");
        let script = Content::new("text/javascript", form);
        let answer = script.answer(StatusCode::OK, &HeaderMap::new());
        assert_eq!(to_bytes(answer.into_body(), 99).await.unwrap(), form);
    }

    #[test]
    fn an_address_that_no_header_can_have_leads_elsewhere() {
        for (address, expected) in [("/ui/?a=b", "/ui/?a=b"), ("/ui/\r\nSet-Cookie: a", "/ui/")] {
            let answer = see_other(address, "/ui/");
            assert_eq!(answer.headers()[LOCATION], expected);
        }
    }
}
