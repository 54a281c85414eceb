//! Addresses of resources, as Terraform writes them.

use unicode_ident::is_xid_continue;

/// Splits a text after the address of a resource instance at its beginning, such as
/// `module.web["a"].null_resource.x[0]`. Returns `None` if the text does not begin with an address.
pub(super) fn split_address(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    let mut names = 0;
    loop {
        let name = name_length(&text[at..])?;
        at += name;
        names += 1;
        if text[at..].starts_with('[') {
            at += index_length(&text[at..])?;
        }
        match text[at..].strip_prefix('.') {
            Some(_) => at += 1,
            None => break,
        }
    }
    (names >= 2).then(|| text.split_at(at))
}

fn name_length(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    if !(is_xid_continue(first) || first == '-') {
        return None;
    }
    let end = text.find(|c: char| !(is_xid_continue(c) || c == '-'));
    Some(end.unwrap_or(text.len()))
}

/// An index in brackets: a number, or a quoted text in which quotes are escaped.
fn index_length(text: &str) -> Option<usize> {
    let inner = &text[1..];
    if !inner.starts_with('"') {
        let digits = inner.find(|c: char| !c.is_ascii_digit())?;
        return (digits > 0 && inner[digits..].starts_with(']')).then_some(digits + 2);
    }
    let mut escaped = false;
    for (at, c) in inner.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return inner[at + 1..].starts_with(']').then_some(at + 3),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_what_only_begins_like_one() {
        for address in [
            "terraform_data.kept",
            "null_resource.x[0]",
            "module.web.consul_keys.a[\"b.c: \\\"d\\\" ]\"]",
            "module.a[\"x\"].module.b[1].data.x.y",
            "été.straße-1",
        ] {
            for rest in [
                "",
                ": Creating...",
                " will be created",
                " (local-exec): a.b: x",
            ] {
                let text = format!("{address}{rest}");
                assert_eq!(split_address(&text), Some((address, rest)));
            }
        }
        for text in [
            "",
            ".",
            "Error: x",
            "terraform",
            "a.",
            "a.b[",
            "a.b[x]",
            "a.b[]",
            "a.b[\"x]",
            "a.b[\"x\\\"]",
            "a..b",
            " a.b",
            "[0]",
        ] {
            assert_eq!(split_address(text), None, "{text}");
        }
    }
}
