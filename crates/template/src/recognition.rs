//! Texts that the original takes for a template.

/// Functions that start no template for the original, although they are some inside of one.
const OTHERS: [&str; 20] = [
    "env",
    "envOrDefault",
    "key",
    "keyExists",
    "keyOrDefault",
    "ls",
    "safeLs",
    "tree",
    "safeTree",
    "node",
    "nodes",
    "service",
    "services",
    "connect",
    "caRoots",
    "caLeaf",
    "datacenters",
    "secret",
    "secrets",
    "with",
];

/// Kind of a text with something like a template in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognised {
    /// Something that the original recognises; then the whole text is evaluated.
    Template {
        /// Whether Vault is needed.
        reads_secret: bool,
    },
    /// Nothing that it recognises, but something that was surely meant so.
    Unlike,
}

/// Looks for templates in `text`; `None` if the text has nothing like a template.
pub fn recognise(text: &str) -> Option<Recognised> {
    let openings = || {
        let found = text.match_indices("{{");
        found.map(|(at, opening)| &text[at + opening.len()..])
    };
    let found: Vec<Opening> = openings().filter_map(opening).collect();
    if found.is_empty() {
        // Looked for once: from every opening on it would take quadratic time.
        let last_end = text.rfind("}}")?;
        let mut before_end = openings().filter(|rest| text.len() - rest.len() <= last_end);
        return before_end.any(is_like_one).then_some(Recognised::Unlike);
    }
    let reads_secret = found.contains(&Opening::Secret);
    Some(Recognised::Template { reads_secret })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Plain,
    Secret,
}

/// Reads the text after `{{`.
fn opening(rest: &str) -> Option<Opening> {
    let rest = rest.trim_start();
    let plain = ["env", "key"]
        .iter()
        .find_map(|function| rest.strip_prefix(function))
        .map(|rest| (Opening::Plain, rest));
    let (kind, rest) = plain.or_else(|| {
        let behind = rest.strip_prefix("with")?;
        let function = behind.trim_start();
        let rest = (function.len() < behind.len())
            .then_some(function)?
            .strip_prefix("secret")?;
        Some((Opening::Secret, rest))
    })?;
    let argument = rest.trim_start();
    if argument.len() == rest.len() {
        return None;
    }
    let (argument, behind) = argument.strip_prefix('"')?.split_once('"')?;
    (!argument.is_empty() && behind.trim_start().starts_with("}}")).then_some(kind)
}

/// Returns whether a known function follows, whatever comes after it up to a closing `}}`.
fn is_like_one(rest: &str) -> bool {
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
    let function = &rest[..end.unwrap_or(rest.len())];
    OTHERS.contains(&function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_of_the_three_functions_are_recognised() {
        for text in [
            r#"{{ env "X" }}"#,
            r#"{{env "X"}}"#,
            r#"a {{  key "a/b" }} b"#,
            r#"{{{{ env "X" }}"#,
            "{{\n\tenv\n\"X\"\n}}",
            r#"{{ keyOrDefault "a" "b" }}{{ key "x" }}"#,
        ] {
            let plain = Recognised::Template {
                reads_secret: false,
            };
            assert_eq!(recognise(text), Some(plain), "{text}");
        }
        for text in [
            r#"{{ with secret "kv/x" }}{{ .Data.t }}{{ end }}"#,
            r#"{{ env "X" }}{{with  secret "x"}}"#,
        ] {
            let secret = Recognised::Template { reads_secret: true };
            assert_eq!(recognise(text), Some(secret), "{text}");
        }
    }

    #[test]
    fn recognises_templates_that_are_not_supported() {
        for text in [
            r#"{{- env "X" }}"#,
            r#"{{ env "X" | toUpper }}"#,
            "{{ env `X` }}",
            r#"{{ keyOrDefault "a" "b" }}"#,
            r#"{{ secret "a" }}"#,
            r#"{{ with secret "a" "b=c" }}"#,
            r#"{{ env "" }}"#,
        ] {
            assert_eq!(recognise(text), Some(Recognised::Unlike), "{text}");
        }
    }

    #[test]
    fn other_text_is_text() {
        for text in [
            r#"{{ env "X""#,
            "${x}",
            "{{",
            "{{ .Values.key }}",
            "{{ environment }}",
            "{{ range x }}{{ end }}",
            "key \"x\" }}",
            "}} {{ key",
        ] {
            assert_eq!(recognise(text), None, "{text}");
        }
    }
}
