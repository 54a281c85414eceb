//! The authority that signs the certificates.

use chrono::{DateTime, Datelike as _, TimeDelta, Utc};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use super::files::{Pair, read};
use super::names::Named;
use crate::certs_error::CertsError;

/// Life of a new authority in days.
const LIFE: i64 = 3653;

/// Clocks of machines differ.
const EARLIER: TimeDelta = TimeDelta::days(1);

/// Signs certificates.
pub(super) struct Authority(Issuer<'static, KeyPair>);

/// A certificate and its key in PEM form.
pub(super) struct Issued {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Authority {
    /// Makes an authority, and its files' texts.
    pub(super) fn new(now: DateTime<Utc>) -> Result<(Self, Issued), CertsError> {
        let key = KeyPair::generate().map_err(CertsError::Make)?;
        let mut params = params("cts services", Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        valid(&mut params, now, now + TimeDelta::days(LIFE));
        let certificate = params.self_signed(&key).map_err(CertsError::Make)?;
        let issued = Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        };
        Ok((Self(Issuer::new(params, key)), issued))
    }

    /// Reads the files of an authority.
    pub(super) fn read(pair: &Pair) -> Result<Self, CertsError> {
        let (certificate, key) = (read(&pair.certificate)?, read(&pair.key)?);
        let unusable = |source| CertsError::Authority {
            path: pair.certificate.clone(),
            source,
        };
        let key = KeyPair::from_pem(&key).map_err(unusable)?;
        let issuer = Issuer::from_ca_cert_pem(&certificate, key).map_err(unusable)?;
        Ok(Self(issuer))
    }

    /// Makes a certificate: of a service for servers and clients, of a person for clients only.
    pub(super) fn issue(
        &self,
        named: &Named,
        now: DateTime<Utc>,
        expires: DateTime<Utc>,
    ) -> Result<Issued, CertsError> {
        let key = KeyPair::generate().map_err(CertsError::Make)?;
        let name = named.names.first().map_or("", String::as_str);
        let mut params = params(name, named.names.clone())?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if named.is_service {
            let purposes = &mut params.extended_key_usages;
            purposes.push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        params.use_authority_key_identifier_extension = true;
        valid(&mut params, now, expires);
        let certificate = params.signed_by(&key, &self.0).map_err(CertsError::Make)?;
        Ok(Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

fn params(name: &str, names: Vec<String>) -> Result<CertificateParams, CertsError> {
    let mut params = CertificateParams::new(names).map_err(CertsError::Make)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

/// Whole days in UTC.
fn valid(params: &mut CertificateParams, from: DateTime<Utc>, until: DateTime<Utc>) {
    let [begin, end] = [from - EARLIER, until].map(|at| {
        let (month, day) = (at.month(), at.day());
        let of = |number: u32| u8::try_from(number).unwrap_or(1);
        date_time_ymd(at.year(), of(month), of(day))
    });
    params.not_before = begin;
    params.not_after = end;
}
