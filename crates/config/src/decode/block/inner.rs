//! Blocks within a block: single ones, repeated ones, and several that are one.

use cts_hcl1::ValueKind;

use crate::decode::block::Block;
use crate::decode::block::bodies::{bodies_or_report, keep_first};
use crate::decode::tree::{Entry, Part};
use crate::report::location::Rules;

impl<'a> Block<'a> {
    /// A block that may stand once in each file.
    pub(crate) fn block(&mut self, name: &'static str) -> Option<Self> {
        let path = self.path_of(name);
        let log_path = self.log_path_of(name);
        let mut parts = Vec::new();
        for of_file in self.claim_by_part(name) {
            let mut bodies = Vec::new();
            for entry in &of_file {
                self.refuse_list(entry, &path);
                bodies.append(&mut bodies_or_report(entry, &path, self.sink));
            }
            // Reading the others as well would add problems that follow from this one.
            keep_first(&mut bodies, &path, &log_path, self.sink);
            parts.append(&mut bodies);
        }
        (!parts.is_empty()).then(|| Self::new(path, parts, self.sink).logged_as(log_path))
    }

    /// Reports a list where a single block is expected, as far as the rules of the file forbid it.
    fn refuse_list(&self, entry: &Entry<'a>, path: &str) {
        let Some(ValueKind::List(values)) = entry.plain_value().map(|value| &value.kind) else {
            return;
        };
        let (message, help) = match (entry.rules(), values.as_slice()) {
            (_, []) => (format!("`{path}` must be a block, not an empty list"), None),
            (Rules::Json, [_]) => (
                format!("`{path}` must be a single object, not a list"),
                Some("write the object without the brackets around it".to_owned()),
            ),
            (Rules::Json, _) => (
                format!("`{path}` must be a single object, not a list"),
                None,
            ),
            (Rules::Hcl, _) => return,
        };
        self.sink.malformed(&entry.value_place(), message, help);
    }

    /// Blocks that may stand any number of times, each for itself.
    ///
    /// An empty one that is the only one of its kind in a file counts as absent; next to others it is
    /// incomplete (docs/configuration.md#json). A warning is reported at least.
    pub(crate) fn repeated(&mut self, name: &'static str) -> Vec<Self> {
        let path = self.path_of(name);
        let mut blocks = Vec::new();
        for of_file in self.claim_by_part(name) {
            let mut parts: Vec<Part<'a>> = of_file
                .iter()
                .flat_map(|entry| bodies_or_report(entry, &path, self.sink))
                .collect();
            if let [only] = parts.as_slice()
                && only.entries.is_empty()
                && !(only.listed && only.rules() == Rules::Json)
            {
                let message = format!("an empty `{name}` block has no effect");
                self.sink.warning(&only.place, message);
                parts.clear();
            }
            let block = |(index, part)| {
                Self::new(path.clone(), vec![part], self.sink)
                    .logged_as(format!("{}[{index}]", self.log_path_of(name)))
            };
            blocks.extend(parts.into_iter().enumerate().map(block));
        }
        blocks
    }

    /// All blocks of a name as one.
    pub(crate) fn united(&mut self, name: &'static str) -> Self {
        let path = self.path_of(name);
        let parts = self
            .claim(name)
            .iter()
            .flat_map(|entry| bodies_or_report(entry, &path, self.sink))
            .collect();
        Self::new(path, parts, self.sink).logged_as(self.log_path_of(name))
    }
}
