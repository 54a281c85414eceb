//! Wall clocks of processes that jump, by a library that is loaded before all others.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use cts_tests::Site;
use tokio::process::Command;

use crate::plan::Member;

const SOURCE: &str = include_str!("clock.c");
const DIRECTORY: &str = "clocks";
const VARIABLE: &str = "CTS_TEST_CLOCK";

/// Seconds of a day. All jumps are whole days, by which times of a clock that is off are recognised.
pub(crate) const DAY: i64 = 24 * 60 * 60;

/// Builds the library for all processes that are started in the site from now on, each with a clock of its own.
pub(crate) async fn install(site: &mut Site, members: &[Member]) {
    let directory = site.path().join(DIRECTORY);
    fs::create_dir(&directory).unwrap();
    for &member in members {
        fs::write(file(site.path(), member), 0_i64.to_ne_bytes()).unwrap();
    }
    let (source, library) = (directory.join("clock.c"), directory.join("clock.so"));
    fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]);
    let built = compiler.arg(&library).arg(&source).status().await.unwrap();
    assert!(built.success(), "the C compiler ends with {built}");
    site.set_clocks(&library, VARIABLE, &directory);
}

/// Sets the clock of a process so many days ahead, or back if the number is negative.
pub(crate) fn set(site: &Path, member: Member, days: i64) -> io::Result<()> {
    let file: File = OpenOptions::new().write(true).open(file(site, member))?;
    file.write_all_at(&(days * DAY).to_ne_bytes(), 0)
}

fn file(site: &Path, member: Member) -> PathBuf {
    site.join(DIRECTORY).join(member.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_clock_of_one_process_jumps_and_that_of_another_does_not() {
        let mut site = Site::new();
        let alone = [Member::Whole];
        install(&mut site, &alone).await;
        set(site.path(), Member::Whole, -3).unwrap();
        let days = async |member: &str| {
            let directory = site.path().join(DIRECTORY);
            let output = Command::new("date")
                .arg("+%s")
                .env("LD_PRELOAD", directory.join("clock.so"))
                .env(VARIABLE, directory.join(member))
                .output()
                .await
                .unwrap();
            let seconds: i64 = String::from_utf8(output.stdout)
                .unwrap()
                .trim()
                .parse()
                .unwrap();
            let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
            let ahead = seconds - i64::try_from(now).unwrap();
            (ahead + DAY / 2).div_euclid(DAY)
        };
        assert_eq!(days("cts").await, -3);
        assert_eq!(days("nobody").await, 0);
        set(site.path(), Member::Whole, 0).unwrap();
        assert_eq!(days("cts").await, 0);
    }
}
