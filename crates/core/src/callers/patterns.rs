//! Patterns of task names to which a token is limited.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Tasks that a caller may name: all tasks, or those that match patterns with `*` and `?`.
#[derive(Debug, Clone, Default)]
pub struct TaskPatterns {
    texts: Vec<String>,
    set: Option<GlobSet>,
}

/// A pattern cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("{pattern:?} is no pattern of task names such as \"web-*\"")]
pub struct InvalidPattern {
    pattern: String,
    source: globset::Error,
}

impl TaskPatterns {
    /// Parses patterns; without patterns, all tasks match.
    pub fn new(texts: Vec<String>) -> Result<Self, InvalidPattern> {
        if texts.is_empty() {
            return Ok(Self::default());
        }
        let mut set = GlobSetBuilder::new();
        for text in &texts {
            let glob = Glob::new(text).map_err(|source| invalid(text, source))?;
            set.add(glob);
        }
        let set = set.build();
        let set = set.map_err(|source| invalid(&texts.join(", "), source))?;
        Ok(Self {
            texts,
            set: Some(set),
        })
    }

    /// The patterns as they were written; empty if every task matches.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether every task matches.
    pub const fn is_all(&self) -> bool {
        self.set.is_none()
    }

    /// The literal prefix of each pattern, with which every matching name begins.
    pub fn beginnings(&self) -> impl Iterator<Item = &str> {
        let texts = self.texts.iter();
        texts.map(|text| {
            text.split(['*', '?', '[', '{', '\\'])
                .next()
                .unwrap_or_default()
        })
    }

    /// Whether this name of a task matches.
    pub fn matches(&self, name: &str) -> bool {
        self.set.as_ref().is_none_or(|set| set.is_match(name))
    }
}

impl PartialEq for TaskPatterns {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Eq for TaskPatterns {}

fn invalid(pattern: &str, source: globset::Error) -> InvalidPattern {
    InvalidPattern {
        pattern: pattern.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> TaskPatterns {
        TaskPatterns::new(texts.iter().map(|text| (*text).to_owned()).collect()).unwrap()
    }

    #[test]
    fn a_name_matches_one_pattern_or_all_match() {
        assert!(patterns(&[]).matches("any") && patterns(&[]).is_all());
        let some = patterns(&["web-*", "dns"]);
        for (name, matches) in [
            ("web-1", true),
            ("dns", true),
            ("dns2", false),
            ("my-web-1", false),
            ("", false),
        ] {
            assert_eq!(some.matches(name), matches, "{name}");
        }
    }

    #[test]
    fn a_beginning_holds_for_every_name_that_matches() {
        let some = patterns(&["web-*", "dns", "*-x", "a[bc]d", "{a,b}", "w\\eb"]);
        let beginnings: Vec<_> = some.beginnings().collect();
        assert_eq!(beginnings, ["web-", "dns", "", "a", "", "w"]);
        for name in ["web-1", "dns", "1-x", "abd", "a"] {
            assert!(some.matches(name));
            assert!(beginnings.iter().any(|begin| name.starts_with(begin)));
        }
        assert_eq!(patterns(&[]).beginnings().count(), 0);
    }

    #[test]
    fn refuses_invalid_patterns() {
        let error = TaskPatterns::new(vec!["web-[".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("web-["), "{error}");
    }
}
