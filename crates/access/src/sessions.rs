//! Sessions of the page: 256 random bits in a cookie (docs/access.md#sessions).

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use secrecy::{ExposeSecret as _, SecretString};

use crate::by_hash::ByHash;
use crate::principal::Principal;
use crate::token::{BYTES, TokenHash, random_text};

/// Hashes of ended sessions that a table keeps. With one more hash the table forgets all former hashes.
const ENDED_KEPT: usize = 10_000;

/// A session that a scheduler has not sent counts for so long after its login. A session that begins and ends between two
/// messages is never sent.
const UNCONFIRMED: TimeDelta = TimeDelta::seconds(30);

/// The secret of a session, as in its cookie.
#[derive(Debug)]
pub struct SessionSecret(SecretString);

impl SessionSecret {
    /// Makes a secret of the system's randomness.
    ///
    /// # Errors
    /// If the system has none.
    pub fn random() -> io::Result<Self> {
        random_text().map(|text| Self(text.into()))
    }

    /// The secret in a cookie; `None` if the text cannot be the secret of a session.
    pub fn from_cookie(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        (bytes.len() == BYTES).then(|| Self(text.into()))
    }

    /// The text for the cookie.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The hash of the text.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.expose())
    }
}

/// A session, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The hash of its secret.
    pub hash: TokenHash,
    /// Its person, with the rights of the login. Ends with the session.
    pub principal: Arc<Principal>,
    /// When the person logged in.
    pub begun_at: DateTime<Utc>,
    /// When the session ends.
    pub ends_at: DateTime<Utc>,
}

impl Session {
    /// A session of a person, whose credential may have another end.
    pub fn new(
        hash: TokenHash,
        principal: Principal,
        begun_at: DateTime<Utc>,
        ends_at: DateTime<Utc>,
    ) -> Self {
        let principal = Arc::new(Principal {
            expires_at: Some(ends_at),
            ..principal
        });
        Self {
            hash,
            principal,
            begun_at,
            ends_at,
        }
    }
}

/// All sessions at one moment, and the last ones that have ended.
#[derive(Debug, Clone, Default)]
pub struct SessionTable {
    sessions: ByHash<Arc<Session>>,
    ended: HashSet<TokenHash>,
    /// Sessions of logins at this gateway that no scheduler has sent yet, with their last moment.
    unconfirmed: HashMap<TokenHash, DateTime<Utc>>,
}

/// Result of a search in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundSession {
    /// It is the secret of this session.
    Valid(Arc<Session>),
    /// Its session has ended.
    Ended,
    /// There is no such session yet.
    Unknown,
}

impl SessionTable {
    /// Adds a session that a scheduler has sent.
    pub fn begin(&mut self, session: Session) {
        self.ended.remove(&session.hash);
        self.unconfirmed.remove(&session.hash);
        self.sessions.insert(session.hash, Arc::new(session));
    }

    /// Adds a session of a login at this gateway. Without a message of a scheduler the session counts for 30 s.
    pub fn begin_here(&mut self, session: Session, now: DateTime<Utc>) {
        let sessions = &mut self.sessions;
        self.unconfirmed.retain(|hash, last| {
            let counts = *last > now;
            if !counts {
                sessions.remove(hash);
            }
            counts
        });
        if self.find(&session.hash, now) == FoundSession::Unknown {
            self.unconfirmed.insert(session.hash, now + UNCONFIRMED);
            self.sessions.insert(session.hash, Arc::new(session));
        }
    }

    /// Ends a session.
    pub fn end(&mut self, hash: TokenHash) {
        self.sessions.remove(&hash);
        self.unconfirmed.remove(&hash);
        if self.ended.len() >= ENDED_KEPT {
            self.ended.clear();
        }
        self.ended.insert(hash);
    }

    /// The session of a secret with this hash. A comparison takes constant time.
    pub fn find(&self, hash: &TokenHash, now: DateTime<Utc>) -> FoundSession {
        match self.sessions.find(hash) {
            Some(_unconfirmed) if self.unconfirmed.get(hash).is_some_and(|last| *last <= now) => {
                FoundSession::Unknown
            }
            Some(session) if session.ends_at > now => FoundSession::Valid(Arc::clone(session)),
            Some(_expired) => FoundSession::Ended,
            None if self.ended.contains(hash) => FoundSession::Ended,
            None => FoundSession::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use cts_core::callers::{CallerKind, Role, TaskPatterns};

    use super::*;

    fn session(secret: &SessionSecret, ends_at: DateTime<Utc>) -> Session {
        let principal = Principal {
            kind: CallerKind::User,
            name: "alice".to_owned(),
            issuer: "https://login.example".to_owned(),
            role: Some(Role::Operate),
            tasks: TaskPatterns::default(),
            expires_at: None,
        };
        Session::new(
            secret.hash(),
            principal,
            ends_at - TimeDelta::hours(8),
            ends_at,
        )
    }

    #[test]
    fn a_secret_is_read_back_from_its_cookie_and_shown_nowhere() {
        let secret = SessionSecret::random().unwrap();
        let text = secret.expose();
        assert_eq!(text.len(), 43);
        assert_ne!(SessionSecret::random().unwrap().expose(), text);
        let read = SessionSecret::from_cookie(text).unwrap();
        assert_eq!(read.hash(), secret.hash());
        assert!(!format!("{secret:?}").contains(text));
        for other in [
            "",
            "cts_",
            &text[1..],
            &format!("{text}A"),
            &format!("{text}="),
        ] {
            assert!(SessionSecret::from_cookie(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_session_is_found_until_it_ends() {
        let secrets = [(); 3].map(|()| SessionSecret::random().unwrap());
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let mut table = SessionTable::default();
        for secret in &secrets[..2] {
            table.begin(session(secret, now + TimeDelta::hours(1)));
        }
        let valid = session(&secrets[0], now + TimeDelta::hours(1));
        let found = |table: &SessionTable, secret: usize, hours| {
            table.find(&secrets[secret].hash(), now + TimeDelta::hours(hours))
        };
        assert_eq!(valid.principal.expires_at, Some(valid.ends_at));
        assert_eq!(found(&table, 0, 0), FoundSession::Valid(Arc::new(valid)));
        assert_eq!(found(&table, 0, 1), FoundSession::Ended);
        assert_eq!(found(&table, 2, 0), FoundSession::Unknown);
        table.end(secrets[1].hash());
        assert_eq!(found(&table, 1, 0), FoundSession::Ended);
        table.begin(session(&secrets[1], now + TimeDelta::hours(1)));
        assert!(matches!(found(&table, 1, 0), FoundSession::Valid(_)));
    }

    #[test]
    fn a_login_that_no_scheduler_sends_counts_for_a_moment() {
        let secrets = [(); 3].map(|()| SessionSecret::random().unwrap());
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let [sent, silent, ended] = &secrets;
        let session = |secret| session(secret, now + TimeDelta::hours(1));
        let mut table = SessionTable::default();
        // The messages of the scheduler may come before the answer to the login.
        table.begin(session(ended));
        table.end(ended.hash());
        for secret in &secrets {
            table.begin_here(session(secret), now);
        }
        table.begin(session(sent));
        let found = |table: &SessionTable, secret: &SessionSecret, now| {
            matches!(table.find(&secret.hash(), now), FoundSession::Valid(_))
        };
        let later = now + UNCONFIRMED;
        assert!(found(&table, sent, now) && found(&table, silent, now));
        assert!(found(&table, sent, later) && !found(&table, silent, later));
        assert!(!found(&table, ended, now));
        table.begin_here(session(&SessionSecret::random().unwrap()), later);
        assert!(table.sessions.find(&silent.hash()).is_none());
        assert_eq!(table.unconfirmed.len(), 1);
    }
}
