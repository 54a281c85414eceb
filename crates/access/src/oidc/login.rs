//! Logins of people at an issuer: authorization code flow with PKCE (RFC 6749, RFC 7636, `OpenID` Connect Core 1.0).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cts_core::excerpt;
use futures::future::BoxFuture;
use jsonwebtoken::dangerous::insecure_decode_claims;
use oauth2::basic::{
    BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse,
    BasicTokenType,
};
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, AuthorizationCode, Client, ClientId, ClientSecret,
    CsrfToken, ExtraTokenFields, HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier,
    RedirectUrl, RequestTokenError, Scope, StandardRevocableToken, StandardTokenResponse,
    TokenResponse as _, TokenUrl,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq as _;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use url::Url;

use super::claims::{summary, text};
use super::documents::{Documents, IssuerError};
use super::pending_login::PendingLogin;
use super::{Issuer, Issuers};
use crate::denied::Denied;
use crate::principal::Principal;

/// Bytes of the secret of a client.
const LONGEST_SECRET: u64 = 4096;

/// Characters of the text of an issuer that an error shows.
const SHOWN: usize = 500;

/// How the page is known to an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginSettings {
    /// One of the accepted issuers.
    pub issuer: String,
    /// Name of the page at the issuer.
    pub client_id: String,
    /// File with the secret of the client, which each login reads; `None` for a public client.
    pub client_secret_file: Option<PathBuf>,
    /// Scopes of the request.
    pub scopes: Vec<String>,
    /// The token that names the person.
    pub token: LoginToken,
}

/// A token that an issuer sends after a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginToken {
    /// The ID token, whose nonce is checked.
    Id,
    /// The access token.
    Access,
}

/// A login at an issuer does not succeed.
#[derive(Debug, thiserror::Error)]
pub enum IssuerLoginError {
    /// The issuer cannot be used now.
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    /// The file with the secret of the client.
    #[error("the secret of the client cannot be read")]
    Secret(#[source] io::Error),
    /// The issuer gives no token for this code, for this reason.
    #[error("the issuer refuses: {0}")]
    Refused(String),
    /// The answer of the issuer is unusable for this reason.
    #[error("the issuer {0}")]
    Answer(&'static str),
    /// The token is not accepted.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The token names a person and gives no role. With its claims as text.
    #[error("the token gives no role: {1}")]
    NoRole(Arc<Principal>, String),
}

/// Logs people in at one issuer.
#[derive(Debug)]
pub struct IssuerLogin {
    issuers: Issuers,
    place: usize,
    settings: LoginSettings,
}

#[derive(Debug, Serialize, Deserialize)]
struct IdToken {
    #[serde(skip_serializing)]
    id_token: Option<SecretString>,
}

impl ExtraTokenFields for IdToken {}

type PageClient = Client<
    BasicErrorResponse,
    StandardTokenResponse<IdToken, BasicTokenType>,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
>;

impl<'c> AsyncHttpClient<'c> for Documents {
    type Error = IssuerError;
    type Future = BoxFuture<'c, Result<HttpResponse, IssuerError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move { self.send(request.try_into()?).await })
    }
}

impl Issuers {
    /// Logins at the issuer of the settings; `None` if the issuer is not among these issuers.
    pub fn login(&self, settings: LoginSettings) -> Option<IssuerLogin> {
        let mut issuers = self.all.iter();
        let place = issuers.position(|issuer| issuer.settings.issuer == settings.issuer)?;
        Some(IssuerLogin {
            issuers: self.clone(),
            place,
            settings,
        })
    }
}

impl IssuerLogin {
    /// The name of the issuer.
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// The address at the issuer that begins this login. The issuer leads the browser back to `callback`. Waits for the
    /// documents of the issuer, if they were never read.
    ///
    /// # Errors
    /// If the issuer is away, or has no logins.
    pub async fn begin(
        &self,
        pending: &PendingLogin,
        callback: Url,
    ) -> Result<Url, IssuerLoginError> {
        let endpoints = self.at().keys.endpoints().await?;
        let client = self.client(callback);
        let client = client.set_auth_uri(AuthUrl::from_url(endpoints.authorization));
        let verifier = PkceCodeVerifier::new(pending.verifier());
        let scopes = self.settings.scopes.iter().cloned().map(Scope::new);
        let request = client
            .authorize_url(|| CsrfToken::new(pending.state()))
            .add_scopes(scopes)
            .add_extra_param("nonce", pending.nonce())
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        let (address, _state) = request.url();
        Ok(address)
    }

    /// The person of a login for which the issuer has sent `code`; has a role. `callback` is that of the beginning. A
    /// cancelled call may have used up the code.
    ///
    /// # Errors
    /// If the issuer gives no token, or the token does not suffice. No error has the text of a token.
    pub async fn finish(
        &self,
        pending: &PendingLogin,
        callback: Url,
        code: String,
        now: DateTime<Utc>,
    ) -> Result<Arc<Principal>, IssuerLoginError> {
        let token = self.token(pending, callback, code).await?;
        let token = token.expose_secret();
        let principal = self.issuers.verify(token, now).await?;
        if principal.issuer != self.settings.issuer {
            return Err(IssuerLoginError::Answer("sends a token of another issuer"));
        }
        // The token is verified.
        let claims: Map<String, Value> =
            insecure_decode_claims(token).map_err(|_no_token| Denied::Unknown)?;
        let nonce = text(&claims, "nonce").unwrap_or_default().as_bytes();
        let is_asked_for = bool::from(nonce.ct_eq(pending.nonce().as_bytes()));
        if self.settings.token == LoginToken::Id && !is_asked_for {
            return Err(IssuerLoginError::Answer("sends a token of another login"));
        }
        if principal.role.is_none() {
            let claims = summary(&claims, &self.at().settings);
            return Err(IssuerLoginError::NoRole(principal, claims));
        }
        Ok(principal)
    }

    async fn token(
        &self,
        pending: &PendingLogin,
        callback: Url,
        code: String,
    ) -> Result<SecretString, IssuerLoginError> {
        let keys = &self.at().keys;
        let endpoints = keys.endpoints().await?;
        let mut client = self.client(callback);
        if let Some(secret) = self.secret().await? {
            let secret = secret.expose_secret().trim().to_owned();
            client = client.set_client_secret(ClientSecret::new(secret));
        }
        if endpoints.secret_in_body {
            client = client.set_auth_type(AuthType::RequestBody);
        }
        let client = client.set_token_uri(TokenUrl::from_url(endpoints.token));
        let answer = client
            .exchange_code(AuthorizationCode::new(code))
            .set_pkce_verifier(PkceCodeVerifier::new(pending.verifier()))
            .request_async(&keys.documents);
        let answer = answer.await.map_err(failure)?;
        let id_token = || answer.extra_fields().id_token.clone();
        match self.settings.token {
            LoginToken::Access => Ok(answer.access_token().secret().clone().into()),
            LoginToken::Id => id_token().ok_or(IssuerLoginError::Answer("sends no ID token")),
        }
    }

    fn at(&self) -> &Issuer {
        &self.issuers.all[self.place]
    }

    fn client(&self, callback: Url) -> PageClient {
        let client = PageClient::new(ClientId::new(self.settings.client_id.clone()));
        client.set_redirect_uri(RedirectUrl::from_url(callback))
    }

    /// The present content of the file with the secret.
    async fn secret(&self) -> Result<Option<SecretString>, IssuerLoginError> {
        let Some(path) = &self.settings.client_secret_file else {
            return Ok(None);
        };
        let read = async {
            let mut secret = String::new();
            let file = File::open(path).await?;
            file.take(LONGEST_SECRET)
                .read_to_string(&mut secret)
                .await?;
            Ok::<_, io::Error>(Some(SecretString::from(secret)))
        };
        read.await.map_err(IssuerLoginError::Secret)
    }
}

/// Errors of `oauth2` may have the whole answer, with its tokens.
fn failure(error: RequestTokenError<IssuerError, BasicErrorResponse>) -> IssuerLoginError {
    match error {
        RequestTokenError::Request(error) => error.into(),
        RequestTokenError::ServerResponse(answer) => {
            IssuerLoginError::Refused(excerpt(&answer.to_string(), SHOWN))
        }
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            IssuerLoginError::Answer("sends no answer with tokens")
        }
    }
}
