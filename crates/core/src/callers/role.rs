//! Roles of people, and of programs outside of cts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::spelled;

spelled! {
    /// The role of a person or a program outside of cts. Roles have no order: neither of `Approve` and `Operate`
    /// includes the rights of the other (see [`Role::includes`]).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// Reads.
        Read = "read",
        /// Reads, and approves or rejects the effects of plans.
        Approve = "approve",
        /// Reads, runs, enables, disables, cancels, releases and drains.
        Operate = "operate",
        /// The rights of `Operate` and of `Approve`.
        #[serde(rename = "operate,approve")]
        OperateApprove = "operate,approve",
        /// Creates, changes and deletes tasks, reads the audit records, and has all rights of the other roles.
        Admin = "admin",
    }
}

/// The text does not name a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no role: use one of {known}", known = .1)]
pub struct UnknownRole(String, String);

impl UnknownRole {
    /// The text, and the roles that are known.
    pub(super) fn new(text: &str, known: String) -> Self {
        Self(text.to_owned(), known)
    }
}

impl Role {
    /// Whether the role includes all rights of the `required` role.
    pub const fn includes(self, required: Self) -> bool {
        self.rights() & required.rights() == required.rights()
    }

    /// The role with the rights of both roles.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        match self.rights() | other.rights() {
            0 => Self::Read,
            APPROVES => Self::Approve,
            OPERATES => Self::Operate,
            OPERATES_AND_APPROVES => Self::OperateApprove,
            _ => Self::Admin,
        }
    }

    /// The rights besides reading, as bits.
    const fn rights(self) -> u8 {
        match self {
            Self::Read => 0,
            Self::Approve => APPROVES,
            Self::Operate => OPERATES,
            Self::OperateApprove => OPERATES_AND_APPROVES,
            Self::Admin => OPERATES_AND_APPROVES | ADMINISTERS,
        }
    }
}

const APPROVES: u8 = 1;
const OPERATES: u8 = 2;
const ADMINISTERS: u8 = 4;
const OPERATES_AND_APPROVES: u8 = OPERATES | APPROVES;

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads one role, or several with commas, whose rights add up.
impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let known = [Self::Read, Self::Approve, Self::Operate, Self::Admin];
        let one = |word: &str| known.into_iter().find(|role| role.as_str() == word);
        let mut roles = text.split(',').map(one);
        let all = roles.try_fold(Self::Read, |all, role| Some(all.with(role?)));
        all.ok_or_else(|| {
            let known = known.map(Self::as_str).join(", ");
            let known = format!("{known}, or several with commas, as in operate,approve");
            UnknownRole::new(text, known)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_include_the_rights_of_smaller_roles() {
        use Role::{Admin, Approve, Operate, OperateApprove, Read};
        let included = |role: Role| Role::ALL.into_iter().filter(move |it| role.includes(*it));
        let included = |role| included(role).collect::<Vec<_>>();
        assert_eq!(included(Read), [Read]);
        assert_eq!(included(Approve), [Read, Approve]);
        assert_eq!(included(Operate), [Read, Operate]);
        assert_eq!(
            included(OperateApprove),
            [Read, Approve, Operate, OperateApprove]
        );
        assert_eq!(included(Admin), Role::ALL);
        for (one, other) in Role::ALL.into_iter().flat_map(|one| {
            let others = Role::ALL.into_iter();
            others.map(move |other| (one, other))
        }) {
            let both = one.with(other);
            assert!(both.includes(one) && both.includes(other), "{one} {other}");
            assert_eq!(one.includes(other), both == one, "{one} {other}");
        }
    }

    #[test]
    fn texts_of_roles_are_read_back_and_several_add_up() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
            let json = serde_json::to_value(role).unwrap();
            assert_eq!(json, role.as_str());
        }
        assert_eq!("approve,operate".parse(), Ok(Role::OperateApprove));
        assert_eq!("admin,read".parse(), Ok(Role::Admin));
        for wrong in ["", "root", "operate,", "operate, approve", "operate,root"] {
            assert!(wrong.parse::<Role>().is_err(), "{wrong:?}");
        }
    }
}
