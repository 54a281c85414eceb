//! The tree of a parsed file.
//!
//! The span of a node lies within the span of its parent. Values may be secrets of the operator:
//! the `Debug` form of the tree shows them and does not belong into a log.

/// A place in the source: byte offsets, the end excluded.
pub type Span = std::ops::Range<usize>;

/// The content of a file, or of one `{ }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// In the order of the source; repeated keys are kept as they are written.
    pub items: Vec<Item>,
    /// The whole file, or everything from `{` to `}` with both.
    pub span: Span,
}

/// One attribute or block.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// At least one. `a "b" { }` has the keys `a` and `b`; an item written with `=` has one key.
    pub keys: Vec<Key>,
    /// Value after the keys; a block is an object.
    pub value: Value,
    /// Whether the item is written with `=`. Always true if the value is not an object.
    pub assigned: bool,
    /// Span from the first key to the end of the value.
    pub span: Span,
}

/// A key or a label.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Text without quotes, escapes resolved. Empty if written as `""`.
    pub text: String,
    /// Whether the key is written between double quotes.
    pub quoted: bool,
    /// Span with the quotes.
    pub span: Span,
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The value itself.
    pub kind: ValueKind,
    /// Span with quotes, brackets and braces; of a heredoc from `<<` to the end of the closing marker.
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ValueKind {
    /// A string with its escapes resolved, but `${...}` as written, or the text of a heredoc with
    /// its last line end and, for `<<`, the indentation of its closing line. Line ends of the source are always `\n` in it.
    String(String),
    /// A number in any notation.
    Number(Number),
    /// `true` or `false`.
    Bool(bool),
    /// `[ ]`; the elements may be of different kinds.
    List(Vec<Value>),
    /// `{ }`, of a block, after `=` or in a list.
    Object(Body),
    /// `null`. HCL has none, and [`parse`](crate::parse) never gives one: it is for other languages
    /// that are read into the same tree.
    Null,
}

/// A number, by its notation: one with a point or an exponent is a float, even if it is whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Written in decimal, hexadecimal (`0x1f`) or octal (`017`).
    Integer(i64),
    /// Always finite.
    Float(f64),
}
