//! `syslog`: the second destination of the log (docs/configuration.md#syslog).

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::suggestion::suggestion;

const DEFAULT_NAME: &str = "consul-terraform-sync";

/// `syslog`, switched on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyslogConfig {
    /// `facility`.
    pub facility: SyslogFacility,
    /// `name`: the program tag of each line; never empty.
    pub name: String,
}

/// The part of the system that a line names as its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyslogFacility {
    /// `KERN`.
    Kern,
    /// `USER`.
    User,
    /// `MAIL`.
    Mail,
    /// `DAEMON`.
    Daemon,
    /// `AUTH`.
    Auth,
    /// `SYSLOG`.
    Syslog,
    /// `LPR`.
    Lpr,
    /// `NEWS`.
    News,
    /// `UUCP`.
    Uucp,
    /// `CRON`.
    Cron,
    /// `AUTHPRIV`.
    Authpriv,
    /// `FTP`.
    Ftp,
    /// `LOCAL0`, the default.
    #[default]
    Local0,
    /// `LOCAL1`.
    Local1,
    /// `LOCAL2`.
    Local2,
    /// `LOCAL3`.
    Local3,
    /// `LOCAL4`.
    Local4,
    /// `LOCAL5`.
    Local5,
    /// `LOCAL6`.
    Local6,
    /// `LOCAL7`.
    Local7,
}

/// Name and number (RFC 5424, 6.2.1); 12 to 15 have no name.
const FACILITIES: [(&str, SyslogFacility, u8); 20] = [
    ("KERN", SyslogFacility::Kern, 0),
    ("USER", SyslogFacility::User, 1),
    ("MAIL", SyslogFacility::Mail, 2),
    ("DAEMON", SyslogFacility::Daemon, 3),
    ("AUTH", SyslogFacility::Auth, 4),
    ("SYSLOG", SyslogFacility::Syslog, 5),
    ("LPR", SyslogFacility::Lpr, 6),
    ("NEWS", SyslogFacility::News, 7),
    ("UUCP", SyslogFacility::Uucp, 8),
    ("CRON", SyslogFacility::Cron, 9),
    ("AUTHPRIV", SyslogFacility::Authpriv, 10),
    ("FTP", SyslogFacility::Ftp, 11),
    ("LOCAL0", SyslogFacility::Local0, 16),
    ("LOCAL1", SyslogFacility::Local1, 17),
    ("LOCAL2", SyslogFacility::Local2, 18),
    ("LOCAL3", SyslogFacility::Local3, 19),
    ("LOCAL4", SyslogFacility::Local4, 20),
    ("LOCAL5", SyslogFacility::Local5, 21),
    ("LOCAL6", SyslogFacility::Local6, 22),
    ("LOCAL7", SyslogFacility::Local7, 23),
];

impl SyslogFacility {
    /// Reads a name, in any case.
    fn from_name(name: &str) -> Option<Self> {
        let known = |(known, ..): &&(&str, Self, u8)| known.eq_ignore_ascii_case(name);
        Some(FACILITIES.iter().find(known)?.1)
    }

    /// The name as it is configured, in capitals.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// The number of the protocol.
    pub fn code(self) -> u8 {
        self.entry().2
    }

    fn entry(self) -> &'static (&'static str, Self, u8) {
        let mine = FACILITIES.iter().find(|(_, facility, _)| *facility == self);
        mine.expect("the table has every facility")
    }
}

pub(crate) fn decode_syslog(block: Option<Block<'_>>) -> Option<SyslogConfig> {
    let mut block = block?;
    let enabled = block.flag("enabled");
    let facility = block.take("facility", coerce::text);
    let name = block.filled_text("name").map(|name| name.value);
    let given = name.is_some() || facility.as_ref().is_some_and(|text| !text.value.is_empty());
    let enabled = enabled.unwrap_or(given);
    let mut chosen = SyslogFacility::default();
    if enabled && let Some(written) = facility {
        if let Some(facility) = SyslogFacility::from_name(&written.value) {
            chosen = facility;
        } else {
            let names = FACILITIES.map(|(name, ..)| name);
            let message = format!(
                "`syslog.facility` must be one of {}, not {}",
                names.join(", "),
                coerce::quoted(&written.value)
            );
            let lower_case = names.map(str::to_lowercase);
            let help = suggestion(&written.value, &lower_case.each_ref().map(String::as_str));
            block.sink().error_with_help(&written.place, message, help);
        }
    }
    block.finish();
    enabled.then(|| SyslogConfig {
        facility: chosen,
        name: name.unwrap_or_else(|| DEFAULT_NAME.to_owned()),
    })
}
