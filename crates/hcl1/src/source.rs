//! Checks of a file before its first token.

use crate::error::ParseError;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Checks encoding and language of a file and gives its text.
pub(crate) fn text(source: &[u8]) -> Result<&str, ParseError> {
    if source.starts_with(BYTE_ORDER_MARK) {
        return Err(ParseError::new(
            "found a byte order mark, expected plain UTF-8",
            0..BYTE_ORDER_MARK.len(),
        )
        .with_help("save the file as UTF-8 without byte order mark"));
    }
    let (text, fault) = match std::str::from_utf8(source) {
        Ok(text) => (text, None),
        Err(error) => {
            let start = error.valid_up_to();
            let end = error
                .error_len()
                .map_or(source.len(), |length| start + length);
            let valid = std::str::from_utf8(&source[..start]).unwrap_or_default();
            (valid, Some(start..end))
        }
    };
    if let Some(at) = text.bytes().position(|byte| byte == 0) {
        return Err(ParseError::new(
            "found a null character, expected text",
            at..at + 1,
        ));
    }
    if let Some(span) = fault {
        let utf16 = source.starts_with(b"\xff\xfe") || source.starts_with(b"\xfe\xff");
        let help = if utf16 {
            "the file looks like UTF-16; save it as UTF-8 without byte order mark"
        } else {
            "save the file as UTF-8"
        };
        return Err(
            ParseError::new("found bytes that are not UTF-8, expected UTF-8 text", span)
                .with_help(help),
        );
    }
    let blanks = text.len() - text.trim_start().len();
    if text[blanks..].starts_with('{') {
        return Err(ParseError::new(
            "found `{` at the start of the file: JSON in a .hcl file is not supported yet",
            blanks..blanks + 1,
        )
        .with_help("give a JSON file the extension .json; an HCL file starts with a key"));
    }
    Ok(text)
}
