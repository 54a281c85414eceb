//! The URL of the health check in the registration.

use crate::decode::block::Block;
use crate::report::location::Located;

pub(super) fn decode_check_url(
    block: &mut Block<'_>,
    name: &'static str,
) -> Option<Located<String>> {
    let written = block.filled_text(name)?;
    if let Err(message) = check_url(&written.value) {
        block.sink().error(&written.place, message);
    }
    Some(written)
}

fn check_url(text: &str) -> Result<(), String> {
    if !text.to_ascii_lowercase().starts_with("http") {
        return Err("default check address must include scheme, for example http://".to_owned());
    }
    read_url(text).map_err(|reason| format!("error with address for default check: {reason}"))
}

fn read_url(text: &str) -> Result<(), String> {
    let uri: http::Uri = text
        .parse()
        .map_err(|error| format!("it is no URL: {error}"))?;
    let host = uri.host().filter(|host| !host.is_empty());
    let Some(host) = host.filter(|_| uri.scheme().is_some()) else {
        return Err("it must be an absolute URL, for example http://host:8558".to_owned());
    };
    let authority = uri.authority().map_or("", http::uri::Authority::as_str);
    // A port that is no number is not seen as one.
    let port = authority.rsplit_once(host).map_or("", |(_, port)| port);
    if !port.is_empty() && port != ":" && uri.port_u16().is_none() {
        return Err(format!("invalid port {port:?} after host"));
    }
    if let Some(escape) = wrong_escape(uri.path()) {
        return Err(format!("invalid URL escape {escape:?}"));
    }
    Ok(())
}

/// The first `%` without the two digits of a byte, with as much as follows in their place.
fn wrong_escape(path: &str) -> Option<&str> {
    path.match_indices('%').find_map(|(at, _)| {
        let rest = &path[at..];
        let digits = rest.as_bytes().get(1..3);
        let reads = digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        (!reads).then(|| &rest[..rest.floor_char_boundary(3)])
    })
}
