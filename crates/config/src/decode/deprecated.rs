//! Keys of former versions (docs/configuration.md#deprecated-keys-of-tasks), and blocks that may be left out.

use crate::decode::block::Block;
use crate::report::original::ProblemKind;

impl Block<'_> {
    /// Reports a key that existed once, and names its replacement.
    pub(crate) fn removed(&mut self, name: &'static str, help: &str) {
        let path = self.path_of(name);
        for place in self.places_of(name) {
            let message = format!("unknown key `{path}`");
            self.sink()
                .error_with_help(&place, message, Some(help.to_owned()));
            self.sink().classify(ProblemKind::UnknownKey {
                block: self.log_path().to_owned(),
                key: name.to_owned(),
            });
        }
    }

    /// A block all of whose contents have defaults.
    #[must_use]
    pub(crate) fn block_or_empty(&mut self, name: &'static str) -> Self {
        let (path, log_path) = (self.path_of(name), self.log_path_of(name));
        let sink = self.sink();
        self.block(name)
            .unwrap_or_else(|| Self::new(path, Vec::new(), sink).logged_as(log_path))
    }
}
