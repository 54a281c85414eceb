//! Rules for redirections: the token goes to the origin of the API only, a change goes to no other origin, and plain
//! HTTP is refused.

use reqwest::{Method, Response, StatusCode, Url, header};

use crate::request::{Access, Request};

/// Where a redirection leads if it is followed, else the words for its direction.
pub(crate) fn redirected(
    from: &Url,
    answer: &Response,
    request: &Request,
    permits: impl Fn(&Url) -> bool,
) -> Result<Url, &'static str> {
    let keeps_the_request = matches!(
        answer.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let is_read = request.method == Method::GET;
    if !is_read && !keeps_the_request {
        return Err("of a change");
    }
    let location = answer.headers().get(header::LOCATION);
    let location = location.and_then(|location| location.to_str().ok());
    let next = location.and_then(|location| from.join(location).ok());
    let next = next.ok_or("to nowhere")?;
    if !permits(&next) {
        return Err("to something else than https");
    }
    if !is_read && request.access == Access::Token && !same_origin(from, &next) {
        return Err("of a change to another host");
    }
    Ok(next)
}

/// Whether two URLs have the same scheme, host and port.
pub(crate) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Whether an answer leads elsewhere.
pub(crate) fn is_redirection(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}
