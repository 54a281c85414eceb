//! JSON as the API encodes it: one compact value and a newline (docs/rest.md#json).

use std::io;

use axum::body::Bytes;
use axum::response::{IntoResponse as _, Response};
use cts_proto::json::{LocalTime, in_local_time};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::ser::Formatter;

use crate::request_id::RequestId;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer with `value` as its body.
pub(crate) fn answer<T: Serialize>(status: StatusCode, value: &T) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], line(value)).into_response()
}

/// An answer with `value` as its body, times in `local_time`.
pub(crate) fn answer_in<T: Serialize>(
    local_time: &LocalTime,
    status: StatusCode,
    value: &T,
) -> Response {
    in_local_time(local_time, || answer(status, value))
}

/// An answer with a body that is made already.
pub(crate) fn made(body: Bytes) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// The line of an object that is made already, with the id of the request as its first member.
pub(crate) fn with_id(id: RequestId, object: &[u8]) -> Bytes {
    let members = object.strip_prefix(b"{").unwrap_or(object);
    let mut text = Vec::with_capacity(object.len() + 64);
    text.extend_from_slice(format!("{{\"request_id\":\"{id}\"").as_bytes());
    if !members.starts_with(b"}") {
        text.push(b',');
    }
    text.extend_from_slice(members);
    text.into()
}

/// `value` and a newline.
pub(crate) fn line<T: Serialize>(value: &T) -> Vec<u8> {
    let mut text = Vec::with_capacity(256);
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, HtmlSafe);
    value
        .serialize(&mut serializer)
        .expect("the model has only text keys and is written to memory");
    text.push(b'\n');
    text
}

/// Escapes what could be taken for HTML or end a line of JavaScript, as the reference does.
struct HtmlSafe;

impl Formatter for HtmlSafe {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut rest = fragment;
        while let Some((at, special)) = rest
            .char_indices()
            .find(|(_, c)| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'))
        {
            writer.write_all(&rest.as_bytes()[..at])?;
            write!(writer, "\\u{:04x}", u32::from(special))?;
            rest = &rest[at + special.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_the_first_member_of_any_object() {
        let id = RequestId(uuid::Uuid::from_u128(7));
        let text = |object: &[u8]| String::from_utf8(with_id(id, object).to_vec()).unwrap();
        let first = format!("{{\"request_id\":\"{id}\"");
        assert_eq!(text(b"{\"a\":1}\n"), format!("{first},\"a\":1}}\n"));
        assert_eq!(text(b"{}\n"), format!("{first}}}\n"));
    }

    #[test]
    fn a_line_is_compact_and_safe_in_html() {
        let value = serde_json::json!({"a<b": "-> \"x\" && é\u{2028}\n", "n": [1, null]});
        assert_eq!(
            String::from_utf8(line(&value)).unwrap(),
            "{\"a\\u003cb\":\"-\\u003e \\\"x\\\" \\u0026\\u0026 é\\u2028\\n\",\"n\":[1,null]}\n"
        );
    }
}
