//! Attributes that are not part of the effects of plans (docs/configuration.md#approval).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A step of a path into the value of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// An element of a list or a set.
    Index(usize),
    /// A member of an object or a map.
    Key(String),
}

/// An attribute with everything below it, which effects do not have. An instance key or an index that is left out stands
/// for all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct IgnoredAttribute {
    text: String,
    address: Vec<Name>,
    path: Vec<PathStep>,
}

/// A name of an address, with the text of its instance key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    name: String,
    key: Option<String>,
}

/// A text does not name an attribute that effects have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIgnored {
    /// The text is not an address with a path.
    #[error(
        "is not an attribute of a resource, as in `module.edge.aws_instance.web.tags[\"time\"]`"
    )]
    NoAttribute,
    /// Effects do not have data sources.
    #[error("is of a data source, which is not part of an effect")]
    DataSource,
}

/// A part of an address or a path: a name, or the text between brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'t> {
    Name(&'t str),
    Bracket(&'t str),
}

/// The parts of a text such as `module.a["k"].t.n[0].rule[0].port`.
fn parts(text: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let is_name = !name.is_empty() && !name.contains(|c: char| c.is_control() || c == ' ');
        if !is_name {
            return None;
        }
        parts.push(Part::Name(name));
        rest = after;
        while let Some(inside) = rest.strip_prefix('[') {
            let end = bracket_end(inside)?;
            parts.push(Part::Bracket(&inside[..end]));
            rest = &inside[end + 1..];
        }
        if rest.is_empty() {
            return Some(parts);
        }
        rest = rest.strip_prefix('.')?;
    }
}

/// The place of the bracket that ends a number or a text in quotes.
fn bracket_end(inside: &str) -> Option<usize> {
    if !inside.starts_with('"') {
        return inside.find(']');
    }
    let mut is_escaped = false;
    for (at, character) in inside.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return inside[at + 1..].starts_with(']').then_some(at + 1),
            _ => {}
        }
    }
    None
}

/// Takes a name with its instance key.
fn name(parts: &mut &[Part<'_>]) -> Option<Name> {
    let (Part::Name(name), rest) = parts.split_first()? else {
        return None;
    };
    *parts = rest;
    let key = match rest.split_first() {
        Some((Part::Bracket(key), rest)) => {
            *parts = rest;
            Some((*key).to_owned())
        }
        _ => None,
    };
    let name = (*name).to_owned();
    Some(Name { name, key })
}

fn step(part: Part<'_>) -> Option<PathStep> {
    Some(match part {
        Part::Name(name) => PathStep::Key(name.to_owned()),
        Part::Bracket(key) if key.starts_with('"') => {
            PathStep::Key(serde_json::from_str(key).ok()?)
        }
        Part::Bracket(index) => PathStep::Index(index.parse().ok()?),
    })
}

impl FromStr for IgnoredAttribute {
    type Err = InvalidIgnored;

    fn from_str(text: &str) -> Result<Self, InvalidIgnored> {
        let parts = parts(text).ok_or(InvalidIgnored::NoAttribute)?;
        let mut rest = parts.as_slice();
        let mut take = || name(&mut rest).ok_or(InvalidIgnored::NoAttribute);
        let mut address = Vec::new();
        loop {
            let first = take()?;
            let is_module = first.name == "module";
            if first.name == "data" {
                return Err(InvalidIgnored::DataSource);
            }
            if first.key.is_some() {
                return Err(InvalidIgnored::NoAttribute);
            }
            address.extend([first, take()?]);
            if !is_module {
                break;
            }
        }
        let path: Option<Vec<PathStep>> = rest.iter().copied().map(step).collect();
        match path {
            Some(path) if matches!(path.first(), Some(PathStep::Key(_))) => Ok(Self {
                text: text.to_owned(),
                address,
                path,
            }),
            _ => Err(InvalidIgnored::NoAttribute),
        }
    }
}

impl IgnoredAttribute {
    /// Whether the attribute is one of the resource at this address.
    fn is_at(&self, address: &[Name]) -> bool {
        let is_same = |(own, it): (&Name, &Name)| {
            own.name == it.name && (own.key.is_none() || own.key == it.key)
        };
        self.address.len() == address.len() && self.address.iter().zip(address).all(is_same)
    }
}

impl fmt::Display for IgnoredAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<IgnoredAttribute> for String {
    fn from(ignored: IgnoredAttribute) -> Self {
        ignored.text
    }
}

impl TryFrom<String> for IgnoredAttribute {
    type Error = InvalidIgnored;

    fn try_from(text: String) -> Result<Self, InvalidIgnored> {
        text.parse()
    }
}

/// The ignored parts of a value, by their paths from there.
#[derive(Debug, Clone, Default)]
pub struct IgnoredPaths<'a>(Vec<&'a [PathStep]>);

impl<'a> IgnoredPaths<'a> {
    /// The ignored parts of the resource at this address, as Terraform writes it.
    pub fn at(ignored: &'a [IgnoredAttribute], address: &str) -> Self {
        if ignored.is_empty() {
            return Self::default();
        }
        let parts = parts(address).unwrap_or_default();
        let mut rest = parts.as_slice();
        let names: Vec<Name> = std::iter::from_fn(|| name(&mut rest)).collect();
        let here = ignored.iter().filter(|it| it.is_at(&names));
        Self(here.map(|it| it.path.as_slice()).collect())
    }

    /// The ignored parts of a member or an element; `None` if it is ignored altogether.
    pub fn below(&self, step: &PathStep) -> Option<Self> {
        match step {
            PathStep::Index(index) => self.of_index(*index),
            PathStep::Key(key) => self.of_key(key),
        }
    }

    /// As [`below`](Self::below), of the member with this name.
    pub fn of_key(&self, key: &str) -> Option<Self> {
        self.after(|step| match step {
            PathStep::Key(own) => (own == key).then_some(1),
            PathStep::Index(_) => None,
        })
    }

    /// As [`below`](Self::below), of the element at this place.
    pub fn of_index(&self, index: usize) -> Option<Self> {
        self.after(|step| match step {
            PathStep::Index(own) => (*own == index).then_some(1),
            PathStep::Key(_) => Some(0),
        })
    }

    /// The paths that go on after a step, which takes a number of their own steps.
    fn after(&self, taken: impl Fn(&PathStep) -> Option<usize>) -> Option<Self> {
        let mut after = Vec::new();
        for path in &self.0 {
            let Some(taken) = path.first().and_then(&taken) else {
                continue;
            };
            if taken == path.len() {
                return None;
            }
            after.push(&path[taken..]);
        }
        Some(Self(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `text` covers this attribute of the resource at the address.
    fn covers(text: &str, address: &str, path: &str) -> bool {
        let ignored = [text.parse().unwrap()];
        let parts = parts(path).unwrap();
        let mut steps = parts.into_iter().map(|part| step(part).unwrap());
        let here = IgnoredPaths::at(&ignored, address);
        steps
            .try_fold(here, |ignored, step| ignored.below(&step))
            .is_none()
    }

    #[test]
    fn a_path_covers_everything_below_it_and_nothing_else() {
        let tags = "module.edge.aws_x.y.tags";
        assert!(covers(tags, "module.edge.aws_x.y", "tags"));
        assert!(covers(tags, "module.edge.aws_x.y", "tags[\"a.b]\"]"));
        assert!(!covers(tags, "module.edge.aws_x.y", "tags_all"));
        assert!(!covers(tags, "module.edge.aws_x.yy", "tags"));
        assert!(!covers(tags, "aws_x.y", "tags"));
        assert!(!covers(tags, "module.edge.module.edge.aws_x.y", "tags"));
        let one = "aws_x.y.tags[\"a.b]\"]";
        assert!(covers(one, "aws_x.y", "tags[\"a.b]\"]"));
        assert!(!covers(one, "aws_x.y", "tags[\"a\"]"));
        assert!(!covers(one, "aws_x.y", "tags"));
        assert!(covers("aws_x.y.tags.time", "aws_x.y", "tags[\"time\"]"));
    }

    #[test]
    fn a_key_or_an_index_that_is_left_out_stands_for_all() {
        let all = "module.a.aws_x.y.rule.port";
        for address in ["module.a.aws_x.y", "module.a[\"k.\\\"]\"].aws_x.y[0]"] {
            for path in ["rule.port", "rule[0].port", "rule[1].port[2]"] {
                assert!(covers(all, address, path), "{address} {path}");
            }
            assert!(!covers(all, address, "rule[0].ports"));
        }
        let one = "module.a[\"k\"].aws_x.y[0].rule[1].port";
        assert!(covers(one, "module.a[\"k\"].aws_x.y[0]", "rule[1].port"));
        assert!(!covers(one, "module.a[\"k\"].aws_x.y[0]", "rule[0].port"));
        assert!(!covers(one, "module.a[\"k\"].aws_x.y[1]", "rule[1].port"));
        assert!(!covers(one, "module.a[\"l\"].aws_x.y[0]", "rule[1].port"));
        assert!(!covers(one, "module.a.aws_x.y[0]", "rule[1].port"));
    }

    #[test]
    fn texts_that_name_no_attribute_are_refused() {
        let refused = |text: &str| text.parse::<IgnoredAttribute>().unwrap_err();
        for text in [
            "",
            "tags",
            "aws_x.y",
            "aws_x.y[0]",
            "module.a.aws_x.y",
            "module.a",
            "aws_x[0].y.tags",
            "aws_x.y.",
            "aws_x..tags",
            "aws_x.y.tags[",
            "aws_x.y.tags[\"a]",
            "aws_x.y.tags[a]",
            "aws_x.y.tags[-1]",
            "aws_x.y.tags[*]",
            "aws_x.y[0][1].tags",
            "aws_x.y.t ags",
            "aws_x.y.tags\n",
        ] {
            assert_eq!(refused(text), InvalidIgnored::NoAttribute, "{text}");
        }
        assert_eq!(refused("data.aws_x.y.id"), InvalidIgnored::DataSource);
        assert_eq!(
            refused("module.a.data.aws_x.y.id"),
            InvalidIgnored::DataSource
        );
    }

    #[test]
    fn a_text_is_stored_as_it_is_written() {
        let text = r#""aws_x.y[\"a\"].tags""#;
        let ignored: IgnoredAttribute = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&ignored).unwrap(), text);
        assert!(serde_json::from_str::<IgnoredAttribute>("\"aws_x\"").is_err());
    }
}
