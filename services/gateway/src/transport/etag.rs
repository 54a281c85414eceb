//! Revisions of tasks as entity tags: cts-only, for `PUT`.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};

/// The revision to replace is missing or unclear. The texts are answers to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RevisionError {
    #[error(
        "the revision that is to be replaced is missing: send it as the header If-Match, \
         or as the member 'revision' of the request body"
    )]
    Missing,
    #[error("header If-Match has an error: value must be a revision in quotation marks or *")]
    NoRevision,
    #[error("the header If-Match and the member 'revision' of the request body differ")]
    Contradiction,
}

/// The revision that a request expects; 0 for any.
pub(crate) fn expected(headers: &HeaderMap, in_body: Option<u64>) -> Result<u64, RevisionError> {
    let Some(value) = headers.get(header::IF_MATCH) else {
        return in_body.ok_or(RevisionError::Missing);
    };
    if headers.get_all(header::IF_MATCH).iter().count() > 1 {
        return Err(RevisionError::NoRevision);
    }
    let in_header = value
        .to_str()
        .ok()
        .and_then(revision)
        .ok_or(RevisionError::NoRevision)?;
    match in_body {
        Some(in_body) if in_body != in_header => Err(RevisionError::Contradiction),
        _ => Ok(in_header),
    }
}

fn revision(text: &str) -> Option<u64> {
    if text == "*" {
        return Some(0);
    }
    let digits = text.strip_prefix('"')?.strip_suffix('"')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|revision| *revision > 0)
}

/// `answer` with the revision of the task in it, if known.
pub(crate) fn with_revision(mut answer: Response, revision: u64) -> Response {
    if revision > 0
        && let Ok(tag) = HeaderValue::try_from(format!("\"{revision}\""))
    {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revision_comes_from_header_or_body() {
        use RevisionError::{Contradiction, Missing, NoRevision};
        let cases: [(&[&str], _, _); 14] = [
            (&[], None, Err(Missing)),
            (&[], Some(3), Ok(3)),
            (&["\"3\""], None, Ok(3)),
            (&["\"3\""], Some(3), Ok(3)),
            (&["\"3\""], Some(4), Err(Contradiction)),
            (&["*"], None, Ok(0)),
            (&["*"], Some(3), Err(Contradiction)),
            (&["3"], None, Err(NoRevision)),
            (&["W/\"3\""], None, Err(NoRevision)),
            (&["\"0\""], None, Err(NoRevision)),
            (&["\"+3\""], None, Err(NoRevision)),
            (&["\"\""], None, Err(NoRevision)),
            (&["\"3\", \"4\""], None, Err(NoRevision)),
            (&["\"3\"", "\"3\""], None, Err(NoRevision)),
        ];
        for (values, in_body, revision) in cases {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::IF_MATCH, value.parse().unwrap());
            }
            assert_eq!(
                expected(&headers, in_body),
                revision,
                "{values:?} {in_body:?}"
            );
        }
    }
}
