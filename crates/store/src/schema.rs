//! Rules for the schemas that a program accepts (CONTRIBUTING.md#compatibility). For implementations.
//!
//! Migrations go forward only. SQLite files are upgraded at the start, Postgres by `cts migrate`; a service refuses
//! an older schema.

use std::collections::BTreeMap;

/// Number of the first migration of 0.1.0. A database with an earlier migration is refused.
pub const FIRST: i64 = 20_270_401_000_000;

/// Why a program cannot use the schema of a database. Found as the source of
/// [`StoreError::Open`](crate::StoreError::Open).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaMismatch {
    /// A newer program removed a part of the schema that this program uses.
    #[error(
        "this program is too old for schema version {version}, which needs one that knows version {oldest}"
    )]
    Newer {
        /// The newest version in the database.
        version: i64,
        /// The oldest compatible version.
        oldest: i64,
    },
    /// The schema is from before the first release.
    #[error("made before 0.1.0: start with an empty one")]
    Unreleased,
    /// The content of a migration differs from the applied migration.
    #[error("schema version {version} there is not the one of this program")]
    Changed {
        /// The version.
        version: i64,
    },
}

/// Schema information that a database stores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredSchema {
    /// Checksums of the applied migrations, by number; empty for an empty database.
    pub applied: BTreeMap<i64, Vec<u8>>,
    /// Programs whose newest migration has at least this number can use the schema; absent in an empty database.
    pub oldest: Option<i64>,
}

impl StoredSchema {
    /// Compares the schema with the migrations of a program (number and checksum), and returns the numbers of the
    /// migrations to apply, oldest first.
    ///
    /// A newer schema is accepted if it names this program as compatible; additions of later versions are ignored.
    pub fn plan<'a>(
        &self,
        own: impl IntoIterator<Item = (i64, &'a [u8])>,
    ) -> Result<Vec<i64>, SchemaMismatch> {
        let own: BTreeMap<i64, &[u8]> = own.into_iter().collect();
        let newest = self.applied.keys().next_back().copied();
        if self
            .applied
            .keys()
            .next()
            .is_some_and(|oldest| *oldest < FIRST)
        {
            return Err(SchemaMismatch::Unreleased);
        }
        let newest_own = own.keys().next_back().copied().unwrap_or_default();
        if let Some(version) = newest {
            let oldest = self.oldest.unwrap_or(version);
            if newest_own < oldest {
                return Err(SchemaMismatch::Newer { version, oldest });
            }
        }
        let mut missing = Vec::new();
        for (version, checksum) in own {
            match self.applied.get(&version) {
                None => missing.push(version),
                Some(applied) if applied == checksum => {}
                Some(_other) => return Err(SchemaMismatch::Changed { version }),
            }
        }
        Ok(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [(i64, &[u8]); 2] = [(FIRST, b"one"), (FIRST + 5, b"two")];

    fn stored(applied: &[(i64, &[u8])], oldest: Option<i64>) -> StoredSchema {
        let applied = applied.iter();
        StoredSchema {
            applied: applied.map(|(n, sum)| (*n, sum.to_vec())).collect(),
            oldest,
        }
    }

    #[test]
    fn applies_missing_migrations() {
        assert_eq!(stored(&[], None).plan(OWN), Ok(vec![FIRST, FIRST + 5]));
        let first = stored(&OWN[..1], Some(FIRST));
        assert_eq!(first.plan(OWN), Ok(vec![FIRST + 5]));
        let all = stored(&OWN, Some(FIRST));
        assert_eq!(all.plan(OWN), Ok(Vec::new()));
    }

    #[test]
    fn a_schema_from_before_the_first_release_is_refused() {
        for applied in [
            &[(FIRST - 1, &b"a"[..])][..],
            &[(FIRST - 1, b"a"), OWN[0], OWN[1]],
        ] {
            let refused = stored(applied, Some(FIRST)).plan(OWN);
            assert_eq!(refused, Err(SchemaMismatch::Unreleased));
        }
    }

    #[test]
    fn a_newer_schema_fits_until_it_says_otherwise() {
        let newer = (FIRST + 9, &b"three"[..]);
        let applied = [OWN[0], OWN[1], newer];
        for oldest in [0, 5] {
            let fits = stored(&applied, Some(FIRST + oldest));
            assert_eq!(fits.plan(OWN), Ok(Vec::new()), "{oldest}");
        }
        let (version, oldest) = (newer.0, FIRST + 6);
        let refused = stored(&applied, Some(oldest)).plan(OWN);
        assert_eq!(refused, Err(SchemaMismatch::Newer { version, oldest }));
        let oldest = version;
        let silent = stored(&applied, None).plan(OWN);
        assert_eq!(silent, Err(SchemaMismatch::Newer { version, oldest }));
        // An earlier migration of this program is still missing, because it was added on a different branch.
        let without = stored(&[OWN[0], newer], Some(FIRST));
        assert_eq!(without.plan(OWN), Ok(vec![FIRST + 5]));
    }

    #[test]
    fn a_migration_of_another_content_is_refused() {
        let version = OWN[0].0;
        let changed = stored(&[(version, b"x")], Some(version)).plan(OWN);
        assert_eq!(changed, Err(SchemaMismatch::Changed { version }));
    }
}
