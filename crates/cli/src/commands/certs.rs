//! `cts certs`: an authority for the services, and a certificate for each role (docs/access.md#services).

mod authority;
mod files;
mod names;

use chrono::{DateTime, TimeDelta, Utc};
use cts_runtime::ProcessEnv;
use cts_tls::PeerCertificate;
use serde_json::json;

use self::authority::{Authority, Issued};
use self::files::{Kind, Layout, Pair, write};
use self::names::Named;
use crate::arguments::Certs;
use crate::certs_error::CertsError;
use crate::error::CommandError;
use crate::output::print;

/// Runs the command and returns the exit code.
pub(crate) fn run(arguments: &Certs, process_env: &ProcessEnv) -> Result<u8, CommandError> {
    let made = make(arguments, process_env)?;
    let document = || made.document();
    print(&arguments.output.output.text(|| made.text(), document))?;
    Ok(0)
}

/// Files that were made. Certificates that were kept are not among them.
struct Made {
    authority: Pair,
    is_new: bool,
    certificates: Vec<(Named, Pair)>,
    expires: DateTime<Utc>,
}

fn make(arguments: &Certs, process_env: &ProcessEnv) -> Result<Made, CertsError> {
    let mut all = names::of_roles(
        &arguments.domain,
        &arguments.roles,
        &arguments.hosts,
        arguments.local,
    )?;
    let directory = process_env.current_dir.join(&arguments.dir);
    let layout = if arguments.per_role {
        Layout::PerRole
    } else {
        Layout::Flat
    };
    let pairs: Vec<Pair> = all
        .iter()
        .map(|named| Pair::of_role(&directory, &named.role, layout))
        .collect();
    if arguments.force {
        for (named, pair) in all.iter_mut().zip(&pairs) {
            keep_names(named, pair)?;
        }
    } else if !arguments.keep {
        let existing = pairs.iter().flat_map(Pair::existing).collect::<Vec<_>>();
        if !existing.is_empty() {
            return Err(CertsError::Exist(existing));
        }
    }
    files::make_directory(&directory)?;
    let now = process_env.clock.now();
    let authority_files = Pair::of(&directory, "ca");
    let (authority, is_new) = match authority_files.existing().as_slice() {
        [] => {
            let (authority, issued) = Authority::new(now)?;
            store(&authority_files, &issued)?;
            (authority, true)
        }
        [one] => return Err(CertsError::HalfAuthority(one.clone())),
        _ => (Authority::read(&authority_files)?, false),
    };
    let expires = now + TimeDelta::days(arguments.days.into());
    let mut certificates = Vec::new();
    for (named, pair) in all.into_iter().zip(pairs) {
        if layout == Layout::PerRole {
            let authority = files::read(&authority_files.certificate)?;
            files::make_directory(&directory.join(&named.role))?;
            let copy = directory.join(&named.role).join("ca.pem");
            write(&copy, &authority, Kind::Certificate)?;
        }
        if !(arguments.keep && pair.is_complete()) {
            store(&pair, &authority.issue(&named, now, expires)?)?;
            certificates.push((named, pair));
        }
    }
    Ok(Made {
        authority: authority_files,
        is_new,
        certificates,
        expires,
    })
}

/// Adds the names in the certificate that is replaced: clients call a service by them.
fn keep_names(named: &mut Named, pair: &Pair) -> Result<(), CertsError> {
    if named.is_service && pair.existing().contains(&pair.certificate) {
        let earlier = PeerCertificate::read_file_now(&pair.certificate)?;
        let addresses = earlier.addresses.iter().map(ToString::to_string);
        named.add(earlier.dns_names.iter().cloned().chain(addresses));
    }
    Ok(())
}

/// Services read the key again when they find a new certificate, so the key comes first.
fn store(pair: &Pair, issued: &Issued) -> Result<(), CertsError> {
    write(&pair.key, &issued.key, Kind::Key)?;
    write(&pair.certificate, &issued.certificate, Kind::Certificate)
}

impl Made {
    fn text(&self) -> String {
        let authority = self.authority.certificate.display();
        let first = if self.is_new {
            let key = self.authority.key.display();
            format!("{authority}: an authority; keep {key} away from the services\n")
        } else {
            format!("{authority}: the authority, as it was\n")
        };
        let certificates = self.certificates.iter().map(|(named, pair)| {
            let names = named.names.join(", ");
            format!("{}: {names}\n", pair.certificate.display())
        });
        let expires = self.expires.format("%Y-%m-%d");
        let last = if self.certificates.is_empty() {
            "Every certificate exists.\n".to_owned()
        } else {
            format!("The certificates end on {expires}.\n")
        };
        let lines = std::iter::once(first).chain(certificates);
        lines.chain([last]).collect()
    }

    fn document(&self) -> serde_json::Value {
        let certificates = self.certificates.iter().map(|(named, pair)| {
            json!({
                "role": named.role,
                "certificate": pair.certificate,
                "key": pair.key,
                "names": named.names,
                "expires": self.expires.format("%Y-%m-%d").to_string(),
            })
        });
        json!({
            "authority": {
                "certificate": self.authority.certificate,
                "key": self.authority.key,
                "new": self.is_new,
            },
            "certificates": certificates.collect::<Vec<_>>(),
        })
    }
}
