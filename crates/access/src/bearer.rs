//! The header of a request that has a token.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

/// The bearer token of a request, `Err` if it is unclear; `None` without one.
pub fn bearer(headers: &HeaderMap) -> Option<Result<&str, ()>> {
    let mut tokens = headers.get_all(AUTHORIZATION).iter();
    let mut tokens = tokens.by_ref().filter_map(bearer_in);
    let token = tokens.next()?;
    Some(match tokens.next() {
        None => token,
        Some(_second) => Err(()),
    })
}

fn bearer_in(value: &HeaderValue) -> Option<Result<&str, ()>> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, _) = value.as_bytes().split_at_checked(SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    let text = value.to_str().map_err(|_not_readable| ());
    Some(text.map(|text| text[SCHEME.len()..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a header, and the token in them.
    type Case<'a> = (&'a [&'a str], Option<Result<&'a str, ()>>);

    #[test]
    fn one_bearer_token_is_read_whatever_the_case_of_its_scheme() {
        let cases: [Case<'_>; 9] = [
            (&[], None),
            (&["Basic bWU6cHc="], None),
            (&["Bearer"], None),
            (&["Bearer "], Some(Ok(""))),
            (&["Bearer cts_1"], Some(Ok("cts_1"))),
            (&["bEARER   cts_1 "], Some(Ok("cts_1"))),
            (&["Basic x", "Bearer cts_1"], Some(Ok("cts_1"))),
            (&["Bearer cts_1", "Bearer cts_2"], Some(Err(()))),
            (&["Bearer é"], Some(Err(()))),
        ];
        for (values, expected) in cases {
            let mut headers = HeaderMap::new();
            for value in values {
                let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
                headers.append(AUTHORIZATION, value);
            }
            assert_eq!(bearer(&headers), expected, "{values:?}");
        }
    }
}
