//! The name that the program was invoked as.

use std::ffi::{OsStr, OsString};
use std::iter;
use std::path::Path;

use crate::original;

/// The program that a user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvokedAs {
    /// `cts`, with everything.
    Ours,
    /// `consul-terraform-sync`, with only its own commands and options.
    Original,
    /// A single service, whose command is implied.
    Service {
        /// Name of the executable.
        name: &'static str,
        command: &'static str,
    },
}

/// Name of the executable that is the entry point of an image.
const ENTRY_POINT: &str = "cts-entrypoint";

/// Directory of the configuration in images, as in images of the original.
const IMAGE_CONFIGURATION: &str = "-config-dir=/consul-terraform-sync/config";

impl InvokedAs {
    /// The program that a process is, and its words.
    ///
    /// As the entry point of an image, which has no shell, the executable takes the command line of the original's
    /// image: options alone are those of the old form of `consul-terraform-sync`, with the directory of the
    /// configuration. Otherwise the first word names a program, or a command of `cts`.
    pub fn resolve(called: &OsStr, words: &[OsString]) -> (Self, Vec<OsString>) {
        if Path::new(called).file_name() != Some(OsStr::new(ENTRY_POINT)) {
            return (Self::of(called), words.to_vec());
        }
        let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
        let Some(first) = words.first().filter(|first| !is_option(first)) else {
            let directory = OsString::from(IMAGE_CONFIGURATION);
            let words = iter::once(directory).chain(words.iter().cloned());
            return (Self::Original, words.collect());
        };
        let program = Self::of(first);
        let is_named = Path::new(first).file_name() == Some(OsStr::new(program.name()));
        let words = if is_named { &words[1..] } else { words };
        (program, words.to_vec())
    }

    /// Returns the name of an executable that was invoked by the word `called`, as a path or as a link.
    pub fn of(called: &OsStr) -> Self {
        let name = Path::new(called).file_name().and_then(OsStr::to_str);
        let service = |name, command| Self::Service { name, command };
        match name {
            Some(original::NAME) => Self::Original,
            Some("cts-watcher") => service("cts-watcher", "watcher"),
            Some("cts-scheduler") => service("cts-scheduler", "scheduler"),
            Some("cts-worker") => service("cts-worker", "worker"),
            Some("cts-gateway") => service("cts-gateway", "gateway"),
            _ => Self::Ours,
        }
    }

    /// The name to use in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "cts",
            Self::Original => original::NAME,
            Self::Service { name, .. } => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(called: &str, words: &str) -> (InvokedAs, String) {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        let (program, words) = InvokedAs::resolve(OsStr::new(called), &words);
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        (program, words.join(" "))
    }

    #[test]
    fn options_of_an_image_are_those_of_the_original_with_its_directory() {
        for (words, complete) in [
            ("", "-config-dir=/consul-terraform-sync/config"),
            (
                "-once -config-file=x.hcl",
                "-config-dir=/consul-terraform-sync/config -once -config-file=x.hcl",
            ),
        ] {
            let expected = (InvokedAs::Original, complete.to_owned());
            assert_eq!(resolved("/usr/local/bin/cts-entrypoint", words), expected);
        }
    }

    #[test]
    fn the_first_word_of_an_image_names_a_program_or_a_command() {
        let watcher = InvokedAs::of(OsStr::new("cts-watcher"));
        for (words, program, rest) in [
            (
                "consul-terraform-sync start -once",
                InvokedAs::Original,
                "start -once",
            ),
            ("/usr/local/bin/cts health", InvokedAs::Ours, "health"),
            ("cts-watcher -config-dir x", watcher, "-config-dir x"),
            ("start -once", InvokedAs::Ours, "start -once"),
            ("worker", InvokedAs::Ours, "worker"),
        ] {
            assert_eq!(
                resolved("cts-entrypoint", words),
                (program, rest.to_owned())
            );
        }
    }

    #[test]
    fn other_names_leave_the_words_alone() {
        let expected = (InvokedAs::Ours, "-once".to_owned());
        assert_eq!(resolved("cts", "-once"), expected);
    }
}
