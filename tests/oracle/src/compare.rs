//! Compares the reading of a document by cts with that by the reference.

use cts_hcl1::{Body, ParseError, parse};
use serde_json::Value as Json;

use crate::decoded::decoded;
use crate::reference::Answer;
use crate::tree;

/// How the two relate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// Both take it and mean the same.
    Accepted,
    /// Both refuse it.
    Refused,
    /// Too deep to be compared.
    LeftOut,
    Differs(Difference),
}

/// A difference, by its cause: differences with equal causes are shown together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Difference {
    pub(crate) kind: Kind,
    pub(crate) cause: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Only we take it; the reference refuses.
    OnlyOurs,
    /// Only we take it; the reference breaks down.
    OnlyOursBreaks,
    /// Only the reference takes it.
    OnlyTheirs,
    /// Both take it, with another tree.
    Tree,
    /// The trees are the same, but by the rules of decoding they differ.
    Decoding,
}

/// Whether a document is read as JSON, which is not the business of this comparison.
pub(crate) fn is_json(document: &[u8]) -> bool {
    String::from_utf8_lossy(document)
        .trim_start()
        .starts_with('{')
}

pub(crate) fn compare(document: &[u8], answer: &Answer) -> Verdict {
    let difference = |kind, cause: &str| {
        let cause = anonymous(cause);
        Verdict::Differs(Difference { kind, cause })
    };
    let body = match (parse(document), answer) {
        (_, Answer::TooDeep) => return Verdict::LeftOut,
        (Err(error), Answer::Tree { decoded: Ok(_), .. }) => {
            return difference(Kind::OnlyTheirs, &ours(&error));
        }
        (Err(_), _) => return Verdict::Refused,
        (Ok(body), _) => body,
    };
    match answer {
        Answer::TooDeep => Verdict::LeftOut,
        Answer::Refused(reason) => difference(Kind::OnlyOurs, reason),
        Answer::Panic(cause) | Answer::Died(cause) => difference(Kind::OnlyOursBreaks, cause),
        Answer::Tree { items, decoded } => {
            if let Some(place) = first_difference(&tree::items(&body), items) {
                return difference(Kind::Tree, &place);
            }
            compare_decoded(document, &body, decoded)
        }
    }
}

fn compare_decoded(document: &[u8], body: &Body, theirs: &Result<Json, String>) -> Verdict {
    let difference = |cause: &str| {
        let cause = anonymous(cause);
        let kind = Kind::Decoding;
        Verdict::Differs(Difference { kind, cause })
    };
    let source = String::from_utf8_lossy(document);
    match (decoded(body, &source), theirs) {
        (Ok(ours), Ok(theirs)) => {
            first_difference(&ours, theirs).map_or(Verdict::Accepted, |place| difference(&place))
        }
        (Err(_), Err(_)) => Verdict::Refused,
        (Ok(_), Err(reason)) => difference(reason),
        (Err(reason), Ok(_)) => difference(reason),
    }
}

fn ours(error: &ParseError) -> String {
    error.message().to_owned()
}

/// The first difference, by the members that lead to it without their numbers.
fn first_difference(ours: &Json, theirs: &Json) -> Option<String> {
    match (ours, theirs) {
        (Json::Object(left), Json::Object(right)) => {
            if left.keys().ne(right.keys()) {
                let names = |map: &serde_json::Map<String, Json>| {
                    let names: Vec<&str> = map.keys().map(String::as_str).collect();
                    names.join("+")
                };
                return Some(format!(
                    "ours is a {}, theirs a {}",
                    names(left),
                    names(right)
                ));
            }
            left.iter()
                .zip(right.values())
                .find_map(|((name, left), right)| {
                    let below = first_difference(left, right)?;
                    Some(format!("{name}: {below}"))
                })
        }
        (Json::Array(left), Json::Array(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right);
            pairs.find_map(|(left, right)| first_difference(left, right))
        }
        (Json::Array(_), Json::Array(_)) => Some("of another length".to_owned()),
        _ => (ours != theirs).then(|| "of another content".to_owned()),
    }
    .map(|path| {
        // How deep it is does not matter.
        match path.rfind("value: ") {
            Some(at) => path[at..].to_owned(),
            None => path,
        }
    })
}

/// The text without the particulars of one document: places, quotations and numbers.
fn anonymous(text: &str) -> String {
    let mut anonymous = String::new();
    let mut quote = None;
    for character in text.replace("\\\"", "\"").trim_matches('"').chars() {
        match quote {
            Some(end) if character == end => quote = None,
            Some(_) => {}
            None if matches!(character, '"' | '`' | '\'') => {
                quote = Some(character);
                anonymous.push('…');
            }
            None if character.is_ascii_digit() => {
                if !anonymous.ends_with('#') {
                    anonymous.push('#');
                }
            }
            None => anonymous.push(character),
        }
    }
    anonymous
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tree_of(document: &str) -> Answer {
        let body = parse(document.as_bytes()).unwrap();
        Answer::Tree {
            items: tree::items(&body),
            decoded: decoded(&body, document).map_err(str::to_owned),
        }
    }

    #[test]
    fn the_same_tree_is_no_difference() {
        let document = "a \"b\" { c = [1, 2.5, \"x\"] }\nd = true";
        let answer = tree_of(document);
        assert_eq!(compare(document.as_bytes(), &answer), Verdict::Accepted);
    }

    #[test]
    fn another_value_is_a_difference_of_the_tree() {
        let verdict = compare(b"a = 1", &tree_of("a = 2"));
        let Verdict::Differs(difference) = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(difference.kind, Kind::Tree);
        assert_eq!(difference.cause, "value: integer: of another content");
    }

    #[test]
    fn what_only_one_side_takes_is_a_difference() {
        let kind = |document: &[u8], answer| match compare(document, &answer) {
            Verdict::Differs(difference) => Some(difference.kind),
            Verdict::Accepted | Verdict::Refused | Verdict::LeftOut => None,
        };
        let refused = || Answer::Refused("no".to_owned());
        assert_eq!(kind(b"a = 1", refused()), Some(Kind::OnlyOurs));
        assert_eq!(kind(b"a = x", refused()), None);
        assert_eq!(kind(b"a = x", tree_of("a = 1")), Some(Kind::OnlyTheirs));
        let panic = Answer::Panic("index".to_owned());
        assert_eq!(kind(b"a = 1", panic), Some(Kind::OnlyOursBreaks));
    }

    #[test]
    fn values_that_decode_otherwise_are_a_difference() {
        let Answer::Tree { items, .. } = tree_of("a = 1") else {
            panic!("no tree");
        };
        let answer = Answer::Tree {
            items,
            decoded: Ok(json!({"map": []})),
        };
        let verdict = compare(b"a = 1", &answer);
        assert!(
            matches!(
                verdict,
                Verdict::Differs(Difference {
                    kind: Kind::Decoding,
                    ..
                })
            ),
            "{verdict:?}"
        );
    }

    #[test]
    fn causes_do_not_name_places_and_contents() {
        assert_eq!(
            anonymous("At 12:7: key \"x\" is `y` 10s"),
            "At #:#: key … is … #s"
        );
    }
}
