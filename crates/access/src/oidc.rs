//! Tokens of OIDC issuers (docs/access.md#oidc).

mod claims;
mod keys;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::access::{CallerKind, Role, TaskPatterns};
use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::{Validation, decode, decode_header};
use moka::sync::Cache;
use serde::Deserialize;
use serde_json::{Map, Value};

use self::claims::{moment, role, text};
pub use self::keys::IssuerError;
use self::keys::Keys;
use crate::authenticator::Denied;
use crate::principal::Principal;
use crate::token::TokenHash;

/// Longest token that is looked at.
const LONGEST_TOKEN: usize = 16 * 1024;

/// Verified tokens that are remembered until they end.
const REMEMBERED: u64 = 10_000;

/// An issuer of tokens, and the meaning of its claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerSettings {
    /// Its URL, as in its tokens.
    pub issuer: String,
    /// A token must be for one of these.
    pub audience: Vec<String>,
    /// The claim that names the user.
    pub name_claim: String,
    /// The claim with the roles: its name, or a path to it with dots.
    pub role_claim: String,
    /// Values of that claim, and the role that each gives.
    pub roles: BTreeMap<String, Role>,
    /// How far the clock of the issuer may differ.
    pub clock_skew: Duration,
    /// Authorities of its certificate; `None` for those of the system.
    pub ca_cert: Option<PathBuf>,
}

/// All accepted issuers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Issuers {
    all: Arc<[Issuer]>,
    verified: Cache<TokenHash, Arc<Verified>>,
}

#[derive(Debug)]
struct Issuer {
    settings: IssuerSettings,
    keys: Keys,
}

/// A token that was found good, with the set of keys that it was found good with.
#[derive(Debug)]
struct Verified {
    principal: Arc<Principal>,
    begins: Option<DateTime<Utc>>,
    issuer: usize,
    keys: u64,
}

/// Enough to find the issuer.
#[derive(Deserialize)]
struct Origin {
    iss: String,
}

impl Issuers {
    /// Accepts tokens of these. Reads the files with their authorities, and asks no issuer yet.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn new(settings: Vec<IssuerSettings>) -> Result<Self, IssuerError> {
        let all = settings.into_iter().map(|settings| {
            let keys = Keys::new(&settings)?;
            Ok(Issuer { settings, keys })
        });
        Ok(Self {
            all: all.collect::<Result<_, IssuerError>>()?,
            verified: Cache::builder().max_capacity(REMEMBERED).build(),
        })
    }

    /// Whether no issuer is accepted.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Reads the keys of all issuers now and every five minutes, until `shutdown` is over. An issuer that cannot be
    /// read is logged once, and its last keys stay in use for a day.
    pub async fn follow(&self, shutdown: impl Future<Output = ()>) {
        let following = async {
            loop {
                for issuer in self.all.iter() {
                    issuer.keys.refresh().await;
                }
                tokio::time::sleep(keys::REFRESHED_EVERY).await;
            }
        };
        tokio::select! {
            () = shutdown => {}
            () = following => {}
        }
    }

    /// The user of a token. What is cheap is checked first, the signature last.
    pub(crate) async fn verify(
        &self,
        token: &str,
        now: DateTime<Utc>,
    ) -> Result<Arc<Principal>, Denied> {
        if token.len() > LONGEST_TOKEN {
            return Err(Denied::Unknown);
        }
        let hash = TokenHash::of(token);
        if let Some(verified) = self.verified.get(&hash) {
            let issuer = &self.all[verified.issuer];
            if verified.keys == issuer.keys.version() && !verified.principal.is_expired(now) {
                return match verified.begins {
                    Some(begins) if begins > now => Err(denied("the token is not valid yet")),
                    _ => Ok(Arc::clone(&verified.principal)),
                };
            }
            self.verified.invalidate(&hash);
        }
        let header = decode_header(token).map_err(|_no_token| Denied::Unknown)?;
        let origin: Origin = insecure_decode_claims(token).map_err(|_no_token| Denied::Unknown)?;
        let place = self
            .all
            .iter()
            .position(|issuer| issuer.settings.issuer == origin.iss);
        let Some(place) = place else {
            return Err(denied("the issuer of the token is not known"));
        };
        let issuer = &self.all[place];
        let claims: Map<String, Value> =
            insecure_decode_claims(token).map_err(|_no_token| Denied::Unknown)?;
        let (begins, expires_at) = issuer.times(&claims, now)?;
        let key = issuer.keys.find(header.kid.as_deref(), header.alg).await;
        let (key, version) = key.map_err(|error| denied(&error.to_string()))?;
        let claims = decode::<Map<String, Value>>(token, &key, &issuer.validation(header.alg));
        let claims = claims.map_err(|error| denied(&error.to_string()))?.claims;
        let principal = Arc::new(issuer.principal(&claims, expires_at));
        let verified = Verified {
            principal: Arc::clone(&principal),
            begins,
            issuer: place,
            keys: version,
        };
        self.verified.insert(hash, Arc::new(verified));
        Ok(principal)
    }
}

impl Issuer {
    /// When the token begins and ends, with the allowed difference of clocks.
    fn times(
        &self,
        claims: &Map<String, Value>,
        now: DateTime<Utc>,
    ) -> Result<(Option<DateTime<Utc>>, DateTime<Utc>), Denied> {
        let skew = self.settings.clock_skew;
        let end = moment(claims, "exp").ok_or_else(|| denied("the token has no `exp`"))? + skew;
        if end <= now {
            let name = text(claims, &self.settings.name_claim).unwrap_or_default();
            return Err(Denied::Expired(name.to_owned()));
        }
        let begin = moment(claims, "nbf").map(|begin| begin - skew);
        if begin.is_some_and(|begin| begin > now) {
            return Err(denied("the token is not valid yet"));
        }
        Ok((begin, end))
    }

    /// Times are checked with the clock of the program.
    fn validation(&self, algorithm: jsonwebtoken::Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.validate_exp = false;
        validation.set_audience(&self.settings.audience);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation
    }

    fn principal(&self, claims: &Map<String, Value>, expires_at: DateTime<Utc>) -> Principal {
        let settings = &self.settings;
        let name = text(claims, &settings.name_claim).or_else(|| text(claims, "sub"));
        Principal {
            kind: CallerKind::User,
            name: name.unwrap_or("?").to_owned(),
            issuer: settings.issuer.clone(),
            role: role(claims, &settings.role_claim, &settings.roles),
            tasks: TaskPatterns::default(),
            expires_at: Some(expires_at),
        }
    }
}

fn denied(reason: &str) -> Denied {
    Denied::Issuer(reason.to_owned())
}
