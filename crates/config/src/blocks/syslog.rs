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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyslogFacility {
    name: &'static str,
    code: u8,
}

/// Names and numbers (RFC 5424, 6.2.1); 12 to 15 have no name.
const FACILITIES: [SyslogFacility; 20] = [
    facility("KERN", 0),
    facility("USER", 1),
    facility("MAIL", 2),
    facility("DAEMON", 3),
    facility("AUTH", 4),
    facility("SYSLOG", 5),
    facility("LPR", 6),
    facility("NEWS", 7),
    facility("UUCP", 8),
    facility("CRON", 9),
    facility("AUTHPRIV", 10),
    facility("FTP", 11),
    facility("LOCAL0", 16),
    facility("LOCAL1", 17),
    facility("LOCAL2", 18),
    facility("LOCAL3", 19),
    facility("LOCAL4", 20),
    facility("LOCAL5", 21),
    facility("LOCAL6", 22),
    facility("LOCAL7", 23),
];

const fn facility(name: &'static str, code: u8) -> SyslogFacility {
    SyslogFacility { name, code }
}

impl Default for SyslogFacility {
    fn default() -> Self {
        facility("LOCAL0", 16)
    }
}

impl SyslogFacility {
    /// Reads a name, in any case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let mut known = FACILITIES.into_iter();
        known.find(|known| known.name.eq_ignore_ascii_case(name))
    }

    /// The name as it is configured, in capitals.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The number of the protocol.
    pub fn code(self) -> u8 {
        self.code
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
            let names = FACILITIES.map(SyslogFacility::name);
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
