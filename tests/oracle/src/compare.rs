//! Compares the reading of a document by cts with that by the reference.

use cts_hcl1::parse;
use serde_json::Value as Json;

use crate::reference::Answer;
use crate::tree;

/// A difference and its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) kind: Kind,
    pub(crate) cause: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only we take it; the reference refuses.
    OnlyOurs,
    /// Only we take it; the reference breaks down.
    OnlyOursBreaks,
    /// Only the reference takes it.
    OnlyTheirs,
    /// Both take it, with another tree.
    Tree,
}

/// The difference, if there is any.
pub(crate) fn compare(document: &[u8], answer: &Answer) -> Option<Difference> {
    let difference = |kind, cause: &str| {
        let cause = cause.to_owned();
        Some(Difference { kind, cause })
    };
    match (parse(document), answer) {
        (Err(error), Answer::Tree { undecodable, .. }) if undecodable.is_none() => {
            difference(Kind::OnlyTheirs, error.message())
        }
        (Err(_), _) => None,
        (Ok(_), Answer::Refused(reason)) => difference(Kind::OnlyOurs, reason),
        (Ok(_), Answer::Panic(cause)) => difference(Kind::OnlyOursBreaks, cause),
        (Ok(body), Answer::Tree { items, .. }) => {
            let place = first_difference(&tree::items(&body), items)?;
            difference(Kind::Tree, &place)
        }
    }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_of(document: &str) -> Answer {
        let items = tree::items(&parse(document.as_bytes()).unwrap());
        let undecodable = None;
        Answer::Tree { items, undecodable }
    }

    #[test]
    fn finds_refusals_panics_and_other_trees() {
        let kind = |document: &[u8], answer: &Answer| compare(document, answer).map(|it| it.kind);
        let refused = Answer::Refused("no".to_owned());
        let panic = Answer::Panic("index".to_owned());
        assert_eq!(kind(b"a = 1", &tree_of("a = 1")), None);
        assert_eq!(kind(b"a = 1", &tree_of("a = 2")), Some(Kind::Tree));
        assert_eq!(kind(b"a = 1", &refused), Some(Kind::OnlyOurs));
        assert_eq!(kind(b"a = x", &refused), None);
        assert_eq!(kind(b"a = x", &tree_of("a = 1")), Some(Kind::OnlyTheirs));
        assert_eq!(kind(b"a = 1", &panic), Some(Kind::OnlyOursBreaks));
    }
}
