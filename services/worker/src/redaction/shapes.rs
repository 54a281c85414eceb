//! Texts with the shape of a secret, even if cts does not know them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Each shape, with a named group if only a part of it is secret.
///
/// A high limit on a class that has all characters but a few is megabytes of an automaton.
const SHAPES: &str = r#"(?x)
    \b hv[sbr] \. [A-Za-z0-9_-]{20,}                                      # Vault
  | \b [sbr] \. [A-Za-z0-9]{24} \b                                        # Vault before 1.10
  | \b [A-Za-z0-9]{14} \. atlasv1 \. [A-Za-z0-9_-]{60,}                   # HCP Terraform
  | \b eyJ [A-Za-z0-9_-]{10,} \. [A-Za-z0-9_-]{10,} \. [A-Za-z0-9_-]{10,} # JSON Web Token
  | \b cts_ [A-Za-z0-9_-]{43,}                                            # cts
  | \b (?: AKIA | ASIA ) [A-Z0-9]{16} \b                                  # AWS
  | \b AIza [A-Za-z0-9_-]{35}                                             # Google
  | \b gh[pousr]_ [A-Za-z0-9]{36,} | \b github_pat_ [A-Za-z0-9_]{60,}     # GitHub
  | \b glpat- [A-Za-z0-9_-]{20,}                                          # GitLab
  | \b xox[abeprs]- [A-Za-z0-9-]{10,}                                     # Slack
  | -----BEGIN [A-Z\x20]{0,20} PRIVATE\x20KEY----- [^-]+ -----END # keys
  | \b (?i: authorization ) [^A-Za-z0-9]{1,10} (?i: bearer | basic | token ) \x20 (?<authorization> [^\s"'\\]{8,} )
  | :// [^/\s:@"']* : (?<url> [^/\s@"']+ ) @                           # user and password of a URL
  | \b (?i: https? ) :// (?<user> [^/\s@"']+ ) @                         # a user of HTTP, who may be a token, with the password
  | [?&] (?i: sshkey | sig | [a-z0-9_-]{0,60} (?: signature | token | secret | credential | passw[a-z]{0,20} | apikey | [_-]key ) [a-z0-9_-]{0,20} )
    = (?<parameter> [^\s&"']+ )                                    # parameters of URLs
  | \b (?: ssl )? password = (?<dsn> [^\s&"']+ )                          # parameters of databases
"#;

#[expect(clippy::unwrap_used, reason = "a constant, which the tests compile")]
static SHAPES_FOUND: LazyLock<Regex> = LazyLock::new(|| Regex::new(SHAPES).unwrap());

/// The ranges of all texts that have the shape of a secret.
pub(super) fn shapes(text: &str) -> impl Iterator<Item = Range<usize>> {
    SHAPES_FOUND.captures_iter(text).filter_map(|found| {
        let groups = ["authorization", "url", "user", "parameter", "dsn"];
        let part = groups.iter().find_map(|group| found.name(group));
        Some(part.or_else(|| found.get(0))?.range())
    })
}
