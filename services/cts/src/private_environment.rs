//! Keeps the credentials in the environment of a service from the modules that run as its user.
//!
//! `/proc/<pid>/environ` shows the variables that a process was started with, whatever the process does later. If
//! there are credentials among them, the service writes these into a sealed file in memory ([`handover`]) and executes
//! itself once more without them: the same process, the same arguments. Before and after that the process is not
//! dumpable: other processes cannot read its memory, environment or open files without privileges
//! (docs/configuration.md#same-machine-same-user).

mod handover;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use cts_terraform::is_own_credential;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::unistd::execve;

pub(crate) use self::handover::HandoverError;
use self::handover::{Handover, seal};

/// Names the descriptor of the credentials to the next execution. The variable is for cts alone.
const DESCRIPTOR: &str = "CTS_ENVIRONMENT_FD";

/// The password of the database, which is as secret as its URL.
const DATABASE_PASSWORD: &str = "PGPASSWORD";

/// The executable of this process, also after the file was replaced.
const THIS_EXECUTABLE: &CStr = c"/proc/self/exe";

/// Whether other processes of this user cannot inspect the memory, environment and open files of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inspection(Result<(), Errno>);

/// Keeps other processes of this user from the memory, environment and open files of this process.
///
/// `execve` takes that back: Terraform and guards stay as readable as other processes, and are found by their
/// environment.
pub(crate) fn refuse_inspection() -> Inspection {
    Inspection(prctl::set_dumpable(false))
}

/// Removes the credentials from the environment that the kernel shows: executes this process once more, and adds the
/// credentials that the previous execution handed over to `environment`.
///
/// Call it before the process has begun or printed anything. Returns a text for the log for each part that
/// other processes can read nevertheless.
pub(crate) fn withdraw_credentials(
    inspection: Inspection,
    arguments: &[OsString],
    environment: &mut BTreeMap<OsString, OsString>,
) -> Result<Vec<String>, HandoverError> {
    let mut readable = Vec::new();
    let reader = match inspection.0 {
        Ok(()) => "privileged processes (those of root)",
        Err(error) => {
            readable.push(format!(
                "every process of this user can read the memory of cts, tokens included: {error}"
            ));
            "every process of this user"
        }
    };
    if let Some(descriptor) = environment.remove(OsStr::new(DESCRIPTOR)) {
        let Handover {
            process_name,
            variables,
        } = Handover::take(&descriptor)?;
        environment.extend(variables);
        // The kernel names the process after the executed file, here `exe`. Only people read that name.
        let _unnamed = prctl::set_name(&process_name);
        return Ok(readable);
    }
    let credentials = credentials_in(environment);
    if credentials.is_empty() {
        return Ok(readable);
    }
    let names = credentials.keys().map(|name| name.to_string_lossy());
    let names = names.collect::<Vec<_>>().join(", ");
    let Err(error) = execute_again(arguments, environment, credentials);
    readable.push(format!(
        "{reader} can read credentials in the environment of cts, which cannot be taken out of it ({error}): {names}"
    ));
    Ok(readable)
}

/// The variables that other processes must not see.
fn credentials_in(environment: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    let is_credential = |name: &OsStr| is_own_credential(name) || name == DATABASE_PASSWORD;
    let variables = environment.iter();
    variables
        .filter(|(name, _value)| is_credential(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Executes this program again, without `credentials` in its environment. Returns only if that is impossible.
fn execute_again(
    arguments: &[OsString],
    environment: &BTreeMap<OsString, OsString>,
    credentials: BTreeMap<OsString, OsString>,
) -> io::Result<Infallible> {
    let variables = environment
        .iter()
        .filter(|(name, _value)| !credentials.contains_key(*name))
        .map(|(name, value)| variable(name, value));
    let mut variables = variables.collect::<io::Result<Vec<_>>>()?;
    let arguments = arguments
        .iter()
        .map(|argument| Ok(CString::new(argument.as_bytes())?));
    let arguments = arguments.collect::<io::Result<Vec<_>>>()?;
    let process_name = prctl::get_name()?;
    let sealed = seal(&Handover {
        process_name,
        variables: credentials,
    })?;
    let descriptor = sealed.as_raw_fd().to_string();
    variables.push(variable(DESCRIPTOR.as_ref(), descriptor.as_ref())?);
    Ok(execve(THIS_EXECUTABLE, &arguments, &variables)?)
}

/// `NAME=value`.
fn variable(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    let mut variable = name.to_owned();
    variable.push("=");
    variable.push(value);
    Ok(CString::new(variable.into_vec())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        let variables = variables.iter();
        variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[test]
    fn credentials_of_cts_and_the_password_of_its_database_are_taken_out() {
        let found = credentials_in(&environment(&[
            ("AWS_SECRET_ACCESS_KEY", "for a provider"),
            ("CONSUL_HTTP_ADDR", "localhost"),
            ("CONSUL_HTTP_TOKEN", "t"),
            ("CTS_DATABASE_URL", "postgres://"),
            ("PGPASSFILE", "/etc/pgpass"),
            ("PGPASSWORD", "p"),
            ("VAULT_TOKEN", "v"),
        ]));
        let names: Vec<_> = found.keys().collect();
        assert_eq!(
            names,
            [
                "CONSUL_HTTP_TOKEN",
                "CTS_DATABASE_URL",
                "PGPASSWORD",
                "VAULT_TOKEN"
            ]
        );
    }

    #[test]
    fn an_environment_without_credentials_stays_as_it_is() {
        let mut plain = environment(&[("HOME", "/root"), ("CONSUL_HTTP_ADDR", "localhost")]);
        let before = plain.clone();
        let readable = withdraw_credentials(Inspection(Ok(())), &[], &mut plain).unwrap();
        assert_eq!(readable, Vec::<String>::new());
        assert_eq!(plain, before);
    }

    #[test]
    fn a_process_that_cannot_be_closed_is_reported() {
        let mut plain = environment(&[("HOME", "/root")]);
        let inspection = Inspection(Err(Errno::EPERM));
        let readable = withdraw_credentials(inspection, &[], &mut plain).unwrap();
        assert!(readable[0].contains("can read the memory"), "{readable:?}");
    }

    #[test]
    fn an_execution_that_fails_leaves_everything_here() {
        // An argument with a NUL cannot be passed on.
        let impossible = [OsString::from("a\0b")];
        let mut all = environment(&[("HOME", "/root"), ("VAULT_TOKEN", "v")]);
        let before = all.clone();
        let readable = withdraw_credentials(Inspection(Ok(())), &impossible, &mut all).unwrap();
        assert!(readable[0].ends_with(": VAULT_TOKEN"), "{readable:?}");
        assert!(readable[0].starts_with("privileged"), "{readable:?}");
        assert_eq!(all, before);
    }

    #[test]
    fn a_forged_descriptor_is_an_error_and_no_second_execution() {
        for forged in ["", "x", "-1", "0", "999999", "99999999999999"] {
            let mut all = environment(&[(DESCRIPTOR, forged), ("VAULT_TOKEN", "v")]);
            let taken = withdraw_credentials(Inspection(Ok(())), &[], &mut all);
            taken.unwrap_err();
        }
    }
}
