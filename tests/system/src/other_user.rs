//! A user without privileges, for tests that run as root.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use cts_testkit::terraform_path;
use nix::unistd::geteuid;

use crate::programs::executable;

/// The user `nobody`, and its group.
const NOBODY: u32 = 65534;

/// The right of others to pass through a directory.
const OTHERS_PASS: u32 = 0o001;

/// The user that processes of a site run as.
#[derive(Debug, Clone)]
pub(crate) struct OtherUser {
    /// Id of the user and of the group.
    pub(crate) id: u32,
    /// Directory of the executables `cts` and `terraform` for the user.
    pub(crate) programs: PathBuf,
}

impl OtherUser {
    /// Gives the directory `site`, and these below it, to the user. `None` if the test itself has no privileges.
    pub(crate) fn of_site(site: &Path, below: &[&str]) -> Option<Self> {
        if !geteuid().is_root() {
            return None;
        }
        for above in site.ancestors().skip(1) {
            let mode = fs::metadata(above).unwrap().permissions().mode();
            assert!(
                mode & OTHERS_PASS != 0,
                "{} is closed to others: set TMPDIR to a directory that they can reach",
                above.display()
            );
        }
        let programs = site.join("programs");
        fs::create_dir(&programs).unwrap();
        // The directories that these are in may be closed to the user.
        for (name, program) in [("cts", executable("cts")), ("terraform", terraform_path())] {
            let reachable = programs.join(name);
            fs::hard_link(fs::canonicalize(&program).unwrap(), &reachable)
                .or_else(|_other_file_system| fs::copy(&program, &reachable).map(drop))
                .unwrap();
        }
        chown(site, Some(NOBODY), Some(NOBODY)).unwrap();
        for directory in below {
            let directory = site.join(directory);
            fs::create_dir_all(&directory).unwrap();
            chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Some(Self {
            id: NOBODY,
            programs,
        })
    }
}
