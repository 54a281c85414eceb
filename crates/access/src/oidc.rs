//! Tokens of OIDC issuers (docs/access.md#oidc).

mod claims;
mod documents;
mod key_set;
mod keys;
mod login;
mod pending_login;
mod settings;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cts_core::callers::{CallerKind, LONGEST_NAME, TaskPatterns};
use cts_core::excerpt;
use futures::future::join_all;
use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Validation, decode, decode_header};
use moka::sync::Cache;
use serde_json::{Map, Value};

use self::claims::{moment, role, text};
pub use self::documents::IssuerError;
use self::keys::Keys;
pub use self::login::{IssuerLogin, IssuerLoginError, LoginSettings, LoginToken};
pub use self::pending_login::PendingLogin;
pub use self::settings::IssuerSettings;
use crate::denied::Denied;
use crate::principal::Principal;
use crate::token::TokenHash;

/// Longest token that is looked at.
const LONGEST_TOKEN: usize = 16 * 1024;

/// Verified tokens that are remembered until they end.
const REMEMBERED: u64 = 10_000;

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

/// A token that was found good, with the version of the keys that it was found good with.
#[derive(Debug)]
struct Verified {
    principal: Arc<Principal>,
    issuer: usize,
    version: u64,
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

    /// Reads the keys of all issuers now and every five minutes, until `shutdown` is over. Tokens wait for the first
    /// reading. An issuer that cannot be read is logged once, and its last keys stay in use for a day.
    pub async fn follow(&self, shutdown: impl Future<Output = ()>) {
        let issuers = self.all.iter();
        let following = join_all(issuers.map(|issuer| issuer.keys.follow(&issuer.settings.issuer)));
        let following = async {
            following.await;
            // Without issuers there is nothing to read.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = shutdown => {}
            () = following => {}
        }
    }

    /// The user of a token. Nothing of the token is in an error before its signature is verified.
    pub(crate) async fn verify(
        &self,
        token: &str,
        now: DateTime<Utc>,
    ) -> Result<Arc<Principal>, Denied> {
        if token.len() > LONGEST_TOKEN {
            return Err(Denied::Unknown);
        }
        let hash = TokenHash::of(token);
        if let Some(verified) = self.remembered(hash) {
            if verified.principal.is_expired(now) {
                return Err(Denied::Expired(verified.principal.name.clone()));
            }
            return Ok(Arc::clone(&verified.principal));
        }
        let header = decode_header(token).map_err(|_no_token| Denied::Unknown)?;
        let claims: Map<String, Value> =
            insecure_decode_claims(token).map_err(|_no_token| Denied::Unknown)?;
        let name = claims.get("iss").and_then(Value::as_str);
        let mut issuers = self.all.iter();
        let place = issuers.position(|issuer| Some(issuer.settings.issuer.as_str()) == name);
        let place = place.ok_or_else(|| denied("the issuer of the token is not known"))?;
        let issuer = &self.all[place];
        if header.crit.is_some() {
            return Err(denied("the token has a critical header"));
        }
        let expires_at = issuer.end(&claims, now)?;
        let found = issuer.keys.find(header.kid.as_deref(), header.alg).await;
        let found = found.map_err(|error| denied(&error.to_string()))?;
        let decoded =
            decode::<Map<String, Value>>(token, &found.key, &issuer.validation(header.alg));
        let claims = decoded.map_err(|error| wrong(error.kind()))?.claims;
        let principal = Arc::new(issuer.principal(&claims, expires_at)?);
        let verified = Verified {
            principal: Arc::clone(&principal),
            issuer: place,
            version: found.version,
        };
        self.verified.insert(hash, Arc::new(verified));
        Ok(principal)
    }

    /// A token that was found good with the present keys.
    fn remembered(&self, hash: TokenHash) -> Option<Arc<Verified>> {
        let verified = self.verified.get(&hash)?;
        let keys = &self.all[verified.issuer].keys;
        if keys.is_current(verified.version) {
            return Some(verified);
        }
        self.verified.invalidate(&hash);
        None
    }
}

impl Issuer {
    /// When the token ends, with the allowed difference of clocks.
    fn end(
        &self,
        claims: &Map<String, Value>,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, Denied> {
        let skew = self.settings.clock_skew;
        let end = moment(claims, "exp").ok_or_else(|| denied("the token has no `exp`"))? + skew;
        if end <= now {
            return Err(denied("the token has expired"));
        }
        if claims.contains_key("nbf") {
            let begin = moment(claims, "nbf");
            let begin = begin.ok_or_else(|| denied("`nbf` of the token is no time"))?;
            if begin - skew > now {
                return Err(denied("the token is not valid yet"));
            }
        }
        Ok(end)
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

    fn principal(
        &self,
        claims: &Map<String, Value>,
        expires_at: DateTime<Utc>,
    ) -> Result<Principal, Denied> {
        let settings = &self.settings;
        let name = text(claims, &settings.name_claim).or_else(|| text(claims, "sub"));
        let name = name.ok_or_else(|| denied("the token names no user"))?;
        Ok(Principal {
            kind: CallerKind::User,
            name: excerpt(name, LONGEST_NAME),
            issuer: settings.issuer.clone(),
            role: role(claims, &settings.role_claim, &settings.roles),
            tasks: TaskPatterns::default(),
            expires_at: Some(expires_at),
        })
    }
}

fn wrong(problem: &ErrorKind) -> Denied {
    denied(match problem {
        ErrorKind::InvalidSignature => "the signature of the token is wrong",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => "the token has no `aud`",
        _ => "the token is malformed",
    })
}

fn denied(reason: &str) -> Denied {
    Denied::Issuer(reason.to_owned())
}
