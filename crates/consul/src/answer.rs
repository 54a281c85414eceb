//! Checks that an answer comes from Consul (docs/runs.md#views-and-blocking-queries).
//!
//! Anything between cts and Consul may answer in its place, with any status and any body. Data missing from such an
//! answer must not look like removed services or keys.

use reqwest::header::HeaderMap;

use crate::error::ConsulError;

/// Consul's index; `None` without the header, which some proxies do not pass on. Consul never answers with 0.
pub(crate) fn index(headers: &HeaderMap) -> Result<Option<u64>, ConsulError> {
    let Some(value) = headers.get("x-consul-index") else {
        return Ok(None);
    };
    let index = value.to_str().ok().and_then(|text| text.parse().ok());
    match index {
        Some(0) => Err(problem("its index is 0")),
        Some(index) => Ok(Some(index)),
        None => Err(problem("its index is not a number")),
    }
}

/// Fails if the answering server reports that it has no leader. An answer from streaming, with which Consul 1.10 and
/// newer answer blocking queries, always reports that, without any meaning.
pub(crate) fn expect_leader(headers: &HeaderMap) -> Result<(), ConsulError> {
    let says = |name, text: &str| {
        let value = headers.get(name);
        value.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(text.as_bytes()))
    };
    let is_streamed = says("x-consul-query-backend", "streaming");
    if says("x-consul-knownleader", "false") && !is_streamed {
        return Err(ConsulError::NoLeader);
    }
    Ok(())
}

/// Fails unless status 404 means that no keys exist: Consul then sends an index and no body.
pub(crate) fn expect_nothing(index: Option<u64>, body: &[u8]) -> Result<(), ConsulError> {
    match index {
        Some(_) if body.trim_ascii().is_empty() => Ok(()),
        Some(_) => Err(problem("status 404 has a body")),
        None => Err(problem("status 404 has no index")),
    }
}

fn problem(problem: &'static str) -> ConsulError {
    ConsulError::NoAnswer { problem }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|&(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn an_index_is_a_number_above_zero_or_missing() {
        let index = |text| index(&headers(&[("x-consul-index", text)]));
        assert_eq!(index("7").unwrap(), Some(7));
        assert_eq!(super::index(&headers(&[])).unwrap(), None);
        for odd in ["0", "", "-1", "x", "1.5", "99999999999999999999999"] {
            assert!(
                matches!(index(odd), Err(ConsulError::NoAnswer { .. })),
                "{odd}"
            );
        }
    }

    #[test]
    fn a_leader_is_missing_only_where_the_answer_is_not_streamed() {
        let leader = |known, backend| {
            expect_leader(&headers(&[
                ("x-consul-knownleader", known),
                ("x-consul-query-backend", backend),
            ]))
        };
        assert!(leader("true", "blocking-query").is_ok());
        assert!(leader("false", "streaming").is_ok());
        assert!(matches!(
            leader("false", "blocking-query"),
            Err(ConsulError::NoLeader)
        ));
        // Consul before 1.10.
        let old = headers(&[("x-consul-knownleader", "false")]);
        assert!(expect_leader(&old).is_err());
        assert!(expect_leader(&headers(&[])).is_ok());
    }

    #[test]
    fn only_consul_says_that_there_is_nothing() {
        assert!(expect_nothing(Some(3), b"").is_ok());
        assert!(expect_nothing(None, b"").is_err());
        assert!(expect_nothing(Some(3), b"<html>").is_err());
    }
}
