//! Certificates of cts, and of the authorities that it trusts: whether they are valid, and until when.

use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use cts_config::{ClientTls, Config};
use cts_core::Chain;
use cts_tls::{Authorities, Files, IdentityFiles, Validity};

use super::finding::Finding;
use super::subject::Subject;
use crate::services::own_certificate::{OwnCertificate, own_certificate};

const CERTIFICATES: &str = "certificates";

/// A life that is long enough.
const LONG_LIFE: TimeDelta = TimeDelta::days(30);

/// The end is so near that nothing else is more urgent.
const SHORT_LIFE: TimeDelta = TimeDelta::days(7);

/// Checks the files of each block.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    let now = subject.process_env.clock.now();
    let mut findings = Vec::new();
    for (block, files) in blocks(subject) {
        let contents = files.read().await;
        let lives = contents.and_then(|contents| contents.validities());
        match lives {
            Ok(lives) => findings.extend(judge(block, lives, now)),
            Err(error) => findings.push(Finding::error(
                CERTIFICATES,
                format!("{block}: {}", Chain(&error)),
                "`cts certs` makes certificates for the services; see docs/configuration.md#tls",
            )),
        }
    }
    findings.extend(of_role(subject));
    if findings.is_empty() {
        findings.push(Finding::skipped(CERTIFICATES, "none is configured"));
    }
    findings
}

/// The role that the certificate of the service names.
fn of_role(subject: Subject<'_>) -> Option<Finding> {
    let found = own_certificate(subject.server_role?, subject.config)?;
    Some(match found {
        OwnCertificate::Proven(text) => Finding::ok(CERTIFICATES, text),
        OwnCertificate::Unproven(text) => Finding::error(
            CERTIFICATES,
            text,
            "`cts certs` makes certificates with roles; see docs/access.md#servers",
        ),
    })
}

/// The files of each block that the service uses.
fn blocks(subject: Subject<'_>) -> Vec<(&'static str, Files)> {
    let Config {
        consul,
        services,
        tls,
        vault,
        ..
    } = subject.config;
    let needs = subject.needs;
    let services = services.tls.as_ref().filter(|_| needs.services);
    let services = services.map(|tls| Files {
        authorities: Some(Authorities::File(tls.ca_cert.clone())),
        identity: Some(IdentityFiles {
            cert: tls.cert.clone(),
            key: tls.key.clone(),
        }),
    });
    let api = tls.as_ref().filter(|_| needs.api).map(|tls| Files {
        authorities: tls.clients(),
        identity: Some(IdentityFiles {
            cert: tls.cert.clone(),
            key: tls.key.clone(),
        }),
    });
    let consul = (needs.consul() && consul.https).then(|| of_client(&consul.tls));
    let vault = vault.as_ref().filter(|_| needs.engine);
    let vault = vault.map(|vault| of_client(&vault.tls));
    let all = [
        ("services.tls", services),
        ("tls", api),
        ("consul.tls", consul),
        ("vault.tls", vault),
    ];
    let named = all
        .into_iter()
        .filter_map(|(block, files)| Some((block, files?)));
    named
        .filter(|(_, files)| files.authorities.is_some() || files.identity.is_some())
        .collect()
}

fn of_client(tls: &ClientTls) -> Files {
    let path = |text: &String| (!text.is_empty()).then(|| PathBuf::from(text));
    let paths = [&tls.ca_cert, &tls.ca_path, &tls.cert, &tls.key].map(path);
    let [ca_cert, ca_path, cert, key] = paths.each_ref().map(|path| path.as_deref());
    Files {
        authorities: Authorities::of(ca_cert, ca_path),
        identity: IdentityFiles::of(cert, key),
    }
}

/// Findings for the certificates that end soon, or else for the certificate that ends first.
fn judge(block: &str, mut lives: Vec<Validity>, now: DateTime<Utc>) -> Vec<Finding> {
    lives.sort_by_key(|life| life.end);
    let judged = lives.iter().map(|life| judge_one(block, life, now));
    let (bad, good): (Vec<_>, Vec<_>) = judged.partition(|finding| finding.remedy.is_some());
    let first_to_end = good.into_iter().next().filter(|_| bad.is_empty());
    bad.into_iter().chain(first_to_end).collect()
}

fn judge_one(block: &str, life: &Validity, now: DateTime<Utc>) -> Finding {
    let time = |seconds| DateTime::from_timestamp(seconds, 0).unwrap_or(DateTime::<Utc>::MAX_UTC);
    let (begin, end) = (time(life.begin), time(life.end));
    let day = |time: DateTime<Utc>| time.format("%Y-%m-%d").to_string();
    let named = format!("{block}: {} of {}", shown(&life.path), life.subject);
    let remedy = "renew the certificate; services take the new files over while they run";
    let left = end - now;
    if begin > now {
        let found = format!("{named} is valid from {} only", day(begin));
        return Finding::error(CERTIFICATES, found, "check the clock of this machine");
    }
    if left < TimeDelta::zero() {
        return Finding::error(CERTIFICATES, format!("{named} ended {}", day(end)), remedy);
    }
    let found = format!("{named} ends {}, in {} days", day(end), left.num_days());
    if left < SHORT_LIFE {
        Finding::error(CERTIFICATES, found, remedy)
    } else if left < LONG_LIFE {
        Finding::warning(CERTIFICATES, found, remedy)
    } else {
        Finding::ok(CERTIFICATES, found)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    fn grade(begin: i64, end: i64) -> Grade {
        const DAY: i64 = 24 * 60 * 60;
        let life = Validity {
            path: "cert.pem".into(),
            subject: "CN=web".to_owned(),
            begin: begin * DAY,
            end: end * DAY,
        };
        let now = DateTime::from_timestamp(100 * DAY, 0).unwrap();
        judge_one("tls", &life, now).grade
    }

    #[test]
    fn the_end_of_a_certificate_is_announced() {
        assert_eq!(grade(0, 131), Grade::Ok);
        assert_eq!(grade(0, 129), Grade::Warning);
        assert_eq!(grade(0, 106), Grade::Error);
        assert_eq!(grade(0, 99), Grade::Error);
        assert_eq!(grade(101, 200), Grade::Error);
    }
}
