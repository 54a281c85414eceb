//! Kinds of problems.

/// Kinds of problems that the original words in its own way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// A value that cannot be used.
    #[default]
    Other,
    /// A file or directory that does not exist.
    MissingFile(String),
    /// A file that cannot be parsed.
    Syntax,
    /// Something of another form than its key.
    Malformed,
    /// A value of another type than its key, which has this path.
    WrongType(String),
    /// A key that has no meaning, in a block with this path.
    UnknownKey { block: String, key: String },
    /// The second block of a kind that may be there once.
    SecondBlock(String),
    /// A variable file that cannot be used.
    VariableFile,
    /// A module that its task cannot use.
    Module,
    /// The second task of a name.
    DuplicateTask(String),
    /// TLS of the API without its files.
    NoIdentity,
    /// Clients must show a certificate, of no authority.
    NoAuthorities,
    /// A log level that does not exist.
    LogLevel(String),
    /// A dynamic template in a block that cannot have any.
    MisplacedTemplate,
    /// A secret of a Vault that is not configured.
    NoVault,
    /// A provider with `auto_commit` in a second task.
    SharedCommits(String),
    /// A backend that tasks cannot use.
    Backend(String),
}
