//! What the files of the processes declare: some tasks change with each version of the files, and with nothing else.

use super::{Plan, writes};
use crate::random::Random;

/// What a file declares of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Services that it watches, by number, sorted.
    pub services: Vec<usize>,
    /// Whether it runs.
    pub enabled: bool,
}

impl Plan {
    /// Whether only the files say what becomes of this task.
    pub const fn is_of_files(&self, number: usize) -> bool {
        number < self.size.tasks && number % 7 == 3
    }

    /// What a version of the files declares of a task, `None` if it has no such task. Version 0 is the first.
    pub fn declared(&self, number: usize, version: u64) -> Option<Declaration> {
        let first = Declaration {
            services: self.tasks.get(number)?.clone(),
            enabled: !self.disabled.contains(&number),
        };
        if version == 0 || !self.is_of_files(number) {
            return Some(first);
        }
        let name = (version << 16) ^ number as u64;
        let mut random = Random::new(self.seed ^ 0x6669_6c65 ^ (name << 8));
        match random.between(1, 10) {
            1..=3 => Some(Declaration {
                enabled: false,
                ..first
            }),
            4..=6 => Some(Declaration {
                services: writes::watched(&mut random, number, self.size.services),
                enabled: true,
            }),
            7..=8 => None,
            _ => Some(first),
        }
    }
}
