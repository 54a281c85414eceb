//! Forms in which a secret may be written.

use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Texts with this many characters or fewer are not secrets: they would be found everywhere.
pub(super) const TOO_SHORT: usize = 5;

/// Characters that are escaped in a part of a URL.
const IN_URL: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Adds every form of a secret: plain, as text of JSON, of HCL and of each within the other, and in a URL. A secret of
/// several lines is looked for as a whole and line by line, because output comes in lines.
pub(super) fn forms(secret: &str, all: &mut BTreeSet<String>) {
    let secret = secret.trim();
    for part in std::iter::once(secret).chain(secret.lines().map(str::trim)) {
        if part.chars().count() <= TOO_SHORT {
            continue;
        }
        let json = in_json(part);
        let hcl = in_hcl(&json);
        all.extend([
            part.to_owned(),
            in_html(&json),
            in_json(&json),
            in_json(&hcl),
            json,
            hcl,
            in_hcl(part),
            utf8_percent_encode(part, IN_URL).to_string(),
        ]);
    }
}

/// The text as between the quotes of a JSON string; Go quotes texts in the same way.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The text as Go's JSON encoder writes it, with the special characters of HTML escaped.
fn in_html(json: &str) -> String {
    let escapes = [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026")];
    escapes.iter().fold(json.to_owned(), |text, (c, escape)| {
        text.replace(*c, escape)
    })
}

fn in_hcl(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}
