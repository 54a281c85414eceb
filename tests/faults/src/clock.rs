//! Wall clocks that jump by whole days.

use std::io;
use std::path::Path;

use cts_tests::{Site, install_clocks, set_clock};

use crate::plan::Member;

/// Seconds of a day. All jumps are whole days, by which times of a clock that is off are recognised.
pub(crate) const DAY: i64 = 24 * 60 * 60;

/// Gives each of the processes that are started in the site from now on a clock of its own.
pub(crate) async fn install(site: &mut Site, members: &[Member]) {
    let names: Vec<String> = members.iter().map(Member::to_string).collect();
    install_clocks(site, &names).await;
}

/// Sets the clock of a process so many days ahead, or back if the number is negative.
pub(crate) fn set(site: &Path, member: Member, days: i64) -> io::Result<()> {
    set_clock(site, &member.to_string(), days * DAY)
}

#[cfg(test)]
mod tests {
    use cts_tests::clock_files;
    use tokio::process::Command;

    use super::*;

    #[tokio::test]
    async fn the_clock_of_one_process_jumps_and_that_of_another_does_not() {
        let mut site = Site::new();
        let alone = [Member::Whole];
        install(&mut site, &alone).await;
        set(site.path(), Member::Whole, -3).unwrap();
        let days = async |member: &str| {
            let output = Command::new("date")
                .arg("+%s")
                .envs(clock_files(site.path(), member))
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
