//! Settings of the page.

/// Settings of the page that all requests share (docs/configuration.md, block `page`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Path of the page, with a slash at both ends, such as `/ui/`.
    pub prefix: String,
    /// Name of the cluster in the title; empty without a name.
    pub name: String,
    /// Word for the colour of the bar on top, by which people tell clusters apart: one of [`Site::COLORS`].
    pub color: &'static str,
    /// Version of this program.
    pub version: &'static str,
}

impl Site {
    /// Values of the setting `color`; the first is the default.
    pub const COLORS: [&'static str; 6] = ["slate", "blue", "green", "amber", "red", "violet"];
}
