//! Rules for the schemas that a program accepts (CONTRIBUTING.md#compatibility). For implementations.
//!
//! Migrations go forward only. SQLite files are upgraded at the start, Postgres by `cts migrate`; a service refuses
//! an older schema.

use std::collections::BTreeMap;

/// Number of the last migration before the first version. A database that ends with this migration is migrated
/// further.
pub const PREDECESSOR: i64 = 20_261_202_000_000;

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
    /// The schema is from before the first version.
    #[error("schema version {version} is older than any that this program can move on")]
    Ancient {
        /// The newest version in the database.
        version: i64,
    },
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
    /// Programs whose newest migration has at least this number can use the schema; absent before the first version.
    pub oldest: Option<i64>,
}

/// Steps that make a database usable for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaPlan {
    /// The schema predates the first version and is turned into the schema of the first version.
    pub moves: bool,
    /// Numbers of the migrations to apply, oldest first. A move, if any, performs the first of them.
    pub missing: Vec<i64>,
}

impl StoredSchema {
    /// Compares the schema with the migrations of a program: number and checksum, oldest first.
    ///
    /// A newer schema is accepted if it names this program as compatible; additions of later versions are ignored.
    pub fn plan<'a>(
        &self,
        own: impl IntoIterator<Item = (i64, &'a [u8])>,
    ) -> Result<SchemaPlan, SchemaMismatch> {
        let own: BTreeMap<i64, &[u8]> = own.into_iter().collect();
        let newest = self.applied.keys().next_back().copied();
        let moves = newest == Some(PREDECESSOR);
        if let Some(version) = newest
            && version < PREDECESSOR
        {
            return Err(SchemaMismatch::Ancient { version });
        }
        let newest_own = own.keys().next_back().copied().unwrap_or_default();
        if let Some(version) = newest.filter(|_| !moves) {
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
        Ok(SchemaPlan { moves, missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [(i64, &[u8]); 2] = [(PREDECESSOR + 1, b"one"), (PREDECESSOR + 5, b"two")];

    fn stored(applied: &[(i64, &[u8])], oldest: Option<i64>) -> StoredSchema {
        let applied = applied.iter();
        StoredSchema {
            applied: applied.map(|(n, sum)| (*n, sum.to_vec())).collect(),
            oldest,
        }
    }

    fn missing(numbers: &[i64], moves: bool) -> SchemaPlan {
        SchemaPlan {
            moves,
            missing: numbers.iter().map(|n| PREDECESSOR + n).collect(),
        }
    }

    #[test]
    fn applies_missing_migrations() {
        assert_eq!(stored(&[], None).plan(OWN), Ok(missing(&[1, 5], false)));
        let first = stored(&OWN[..1], Some(PREDECESSOR + 1));
        assert_eq!(first.plan(OWN), Ok(missing(&[5], false)));
        let all = stored(&OWN, Some(PREDECESSOR + 1));
        assert_eq!(all.plan(OWN), Ok(missing(&[], false)));
    }

    #[test]
    fn the_schema_before_the_first_version_is_moved_and_no_earlier_one() {
        let old = [(PREDECESSOR - 1, &b"a"[..]), (PREDECESSOR, &b"b"[..])];
        assert_eq!(stored(&old, None).plan(OWN), Ok(missing(&[1, 5], true)));
        let version = PREDECESSOR - 1;
        let ancient = stored(&old[..1], None).plan(OWN);
        assert_eq!(ancient, Err(SchemaMismatch::Ancient { version }));
    }

    #[test]
    fn a_newer_schema_fits_until_it_says_otherwise() {
        let newer = (PREDECESSOR + 9, &b"three"[..]);
        let applied = [OWN[0], OWN[1], newer];
        for oldest in [1, 5] {
            let fits = stored(&applied, Some(PREDECESSOR + oldest));
            assert_eq!(fits.plan(OWN), Ok(missing(&[], false)), "{oldest}");
        }
        let (version, oldest) = (newer.0, PREDECESSOR + 6);
        let refused = stored(&applied, Some(oldest)).plan(OWN);
        assert_eq!(refused, Err(SchemaMismatch::Newer { version, oldest }));
        let oldest = version;
        let silent = stored(&applied, None).plan(OWN);
        assert_eq!(silent, Err(SchemaMismatch::Newer { version, oldest }));
        // An earlier migration of this program is still missing, because it was added on a different branch.
        let without = stored(&[OWN[0], newer], Some(PREDECESSOR + 1));
        assert_eq!(without.plan(OWN), Ok(missing(&[5], false)));
    }

    #[test]
    fn a_migration_of_another_content_is_refused() {
        let version = OWN[0].0;
        let changed = stored(&[(version, b"x")], Some(version)).plan(OWN);
        assert_eq!(changed, Err(SchemaMismatch::Changed { version }));
    }
}
