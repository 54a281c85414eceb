//! A file system that can be full.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

/// The file that takes what is free.
const BALLAST: &str = "ballast";
/// Written at once.
const PIECE: usize = 64 * 1024;

/// Unmounts at the end of the input: when the owner has gone, however it ended.
const SCRIPT: &str = "trap '' INT TERM HUP; cat >/dev/null; umount -l \"$1\" 2>/dev/null; exit 0";

/// A file system of its own in memory, on a directory of a test. Gone when dropped, and also when the test
/// process dies.
#[derive(Debug)]
pub struct LimitedDisk {
    path: PathBuf,
    bytes: u64,
    keeper: Child,
    /// Its end is that of the owner.
    keepers_input: Option<ChildStdin>,
}

impl LimitedDisk {
    /// A file system of so many bytes on the empty directory `path`, whose owner and mode it takes over. Only root may
    /// mount one; everywhere else, and where the machine forbids it, this is an error.
    pub fn mount(path: &Path, bytes: u64) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt as _;

        let owner = fs::metadata(path)?;
        let options = format!(
            "size={bytes},uid={},gid={},mode={:o}",
            owner.uid(),
            owner.gid(),
            owner.mode() & 0o777
        );
        mount(
            Some("cts-test"),
            path,
            Some("tmpfs"),
            MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
            Some(options.as_str()),
        )?;
        match keeper(path) {
            Ok(mut keeper) => Ok(Self {
                path: path.to_owned(),
                bytes,
                keepers_input: keeper.stdin.take(),
                keeper,
            }),
            Err(error) => {
                unmount(path);
                Err(error)
            }
        }
    }

    /// Its size.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes all that is free. Blocks for a moment.
    pub fn fill(&self) {
        let filled = File::create(self.path.join(BALLAST)).and_then(|mut file| {
            let piece = vec![0; PIECE];
            let mut size = PIECE;
            // Smaller and smaller pieces, down to the last byte.
            while size > 0 {
                match file.write_all(&piece[..size]) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => size /= 2,
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        });
        filled.unwrap_or_else(|error| panic!("cannot fill {}: {error}", self.path.display()));
    }

    /// Gives back what [`LimitedDisk::fill`] has taken.
    pub fn free(&self) {
        match fs::remove_file(self.path.join(BALLAST)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                panic!("cannot free {}: {error}", self.path.display())
            }
            _removed_or_absent => {}
        }
    }
}

impl Drop for LimitedDisk {
    fn drop(&mut self) {
        unmount(&self.path);
        self.keepers_input = None;
        // The keeper ends by itself; only collected here, so that no zombie stays.
        _ = self.keeper.wait();
    }
}

/// At once for everything that looks for it, and in fact when the last file is closed.
fn unmount(path: &Path) {
    let _unmounted_already = umount2(path, MntFlags::MNT_DETACH);
}

#[expect(
    clippy::disallowed_methods,
    reason = "it must not depend on a runtime: it works when that is gone"
)]
fn keeper(path: &Path) -> io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", SCRIPT, "keeper"])
        .arg(path)
        .current_dir("/")
        // A signal that ends the tests as a group must not end it.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}
