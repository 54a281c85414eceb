//! The exit codes of the program (docs/cli.md#exit-codes).

/// A group of commands was invoked without a command, or the files of shells could not be changed.
pub const EXIT_GROUP: u8 = 1;

/// The checked service or API does not serve.
pub const EXIT_UNHEALTHY: u8 = 1;

/// The stored tasks differ from the configuration.
pub const EXIT_DIFFERENT: u8 = 2;

/// `cts doctor` has found warnings and no error.
pub const EXIT_WARNINGS: u8 = 3;

/// `cts doctor` has found errors.
pub const EXIT_ERRORS: u8 = 4;

/// Anything that has no code of its own.
pub const EXIT_GENERAL: u8 = 11;

/// The end by a signal took too long, or left tasks undone.
pub const EXIT_SLOW_END: u8 = 12;

/// An option or argument is missing.
pub const EXIT_MISSING: u8 = 13;

/// The arguments cannot be parsed.
pub const EXIT_USAGE: u8 = 14;

/// The configuration cannot be used, or Consul, or files of TLS.
pub const EXIT_UNUSABLE: u8 = 15;

/// Terraform is missing and cannot be installed, or is unsuitable.
pub const EXIT_TERRAFORM: u8 = 16;

/// The brake of the fleet is set at the end of a pass (docs/runs.md#the-brake-of-the-fleet).
pub const EXIT_BRAKE: u8 = 17;

/// Tasks wait for the consent of a person at the end of a pass (docs/runs.md#consent).
pub const EXIT_CONSENT: u8 = 18;

/// The command does not exist.
pub const EXIT_UNKNOWN_COMMAND: u8 = 127;

/// Ended by Ctrl-C: the code that a shell reports for a program that the signal has ended.
pub const EXIT_INTERRUPTED: u8 = 130;
