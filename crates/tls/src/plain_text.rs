//! A server that was to speak TLS and does not.

use std::error::Error;
use std::io;

/// Whether a connection failed because the other side answered in plain text where TLS was to be spoken.
pub fn answers_in_plain_text(error: &(dyn Error + 'static)) -> bool {
    let is_plain = |cause: &(dyn Error + 'static)| {
        matches!(
            cause.downcast_ref::<rustls::Error>(),
            Some(rustls::Error::InvalidMessage(_))
        )
    };
    is_plain(error) || causes(error).any(is_plain)
}

/// The causes of an error, outermost first. An [`io::Error`] speaks for the error inside it, which no chain of sources shows.
pub fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let inner = |error: &'a (dyn Error + 'static)| -> Option<&'a (dyn Error + 'static)> {
        if let Some(inside) = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            return Some(inside);
        }
        error.source()
    };
    std::iter::successors(inner(error), move |error| inner(*error))
}

#[cfg(test)]
mod tests {
    use rustls::InvalidMessage;

    use super::*;

    #[test]
    fn the_cause_is_found_inside_of_what_has_failed() {
        let plain = rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType);
        let inside = io::Error::new(io::ErrorKind::InvalidData, plain);
        assert!(answers_in_plain_text(&io::Error::other(inside)));
        assert!(!answers_in_plain_text(&io::Error::other("refused")));
    }
}
