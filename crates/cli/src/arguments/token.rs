//! The arguments of `cts token`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use cts_core::callers::Role;
use cts_core::go::parse_duration;

use super::options::{OutputOption, path};
use super::store_place::StorePlace;
use super::table_width::WideOption;

/// `cts token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token, and print it or write it into a file: this is the only time that it is shown.
    #[command(after_help = "Example:\n\n    \
        $ cts token create ci -role operate -tasks 'web-*' -expires 90d -config-file cts.hcl -out ci.token\n    \
        The token \"ci\" may operate tasks web-*, until 2027-02-24T10:00:00Z. It is not shown again.")]
    Create(CreateToken),
    /// List the tokens, without their secrets.
    List {
        /// The store.
        #[command(flatten)]
        place: StorePlace,
        /// How the result is printed.
        #[command(flatten)]
        output: OutputOption,
        /// How wide a table is.
        #[command(flatten)]
        wide: WideOption,
    },
    /// Revoke a token, or end the sessions of a person on the page: within some seconds they are refused.
    #[command(after_help = "Example:\n\n    \
        $ cts token revoke -sessions user:alice -config-file cts.hcl\n    \
        2 sessions of \"user:alice\" ended. Gateways refuse the cookies within some seconds.")]
    Revoke {
        /// The store.
        #[command(flatten)]
        place: StorePlace,
        /// End the sessions of NAME instead. A token of that name stays valid.
        #[arg(long)]
        sessions: bool,
        /// Name of the token; with -sessions, of the caller as in audit records, or KIND:NAME, as in user:alice.
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// `cts token create`.
#[derive(Debug, Args)]
pub struct CreateToken {
    /// The store.
    #[command(flatten)]
    pub place: StorePlace,
    /// Name of the token, which logs and audit records show: letters, digits, `-`, `_` and `.`.
    #[arg(value_name = "NAME", value_parser = token_name)]
    pub name: String,
    /// Rights of the token: read, operate (run, enable, cancel, release), approve (say yes or no to plans), both as
    /// operate,approve, or admin (create, change, delete, and all others).
    #[arg(long, value_name = "ROLE", value_parser = role)]
    pub role: Role,
    /// Only tasks whose names match, as in `web-*`; may be given several times.
    #[arg(long, value_name = "PATTERN")]
    pub tasks: Vec<String>,
    /// Life of the token, as in `90d` or `12h`; without it the token does not expire.
    #[arg(long, value_name = "DURATION", value_parser = life)]
    pub expires: Option<Duration>,
    /// Write the token into this new file, which only its owner can read, instead of printing it.
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub out: Option<PathBuf>,
    /// How the result is printed.
    #[command(flatten)]
    pub output: OutputOption,
}

fn role(text: &str) -> Result<Role, String> {
    text.parse()
        .map_err(|error: cts_core::callers::UnknownRole| error.to_string())
}

fn token_name(text: &str) -> Result<String, String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=100).contains(&text.len()) && text.bytes().all(is_part) {
        return Ok(text.to_owned());
    }
    Err("a name has 1 to 100 letters, digits, `-`, `_` and `.`".to_owned())
}

/// Days, or a duration as in configuration files.
fn life(text: &str) -> Result<Duration, String> {
    let days = text
        .strip_suffix('d')
        .and_then(|days| days.parse::<u32>().ok());
    let life = match days {
        Some(days) => Some(Duration::from_hours(u64::from(days) * 24)),
        None => parse_duration(text)
            .ok()
            .and_then(|nanos| u64::try_from(nanos).ok())
            .map(Duration::from_nanos),
    };
    life.filter(|life| !life.is_zero())
        .ok_or_else(|| "use a duration such as `90d` or `12h`".to_owned())
}
