use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, symlink};

use nix::sys::stat::Mode as PipeMode;
use nix::unistd::mkfifo;

use super::*;

struct Site {
    _kept: tempfile::TempDir,
    path: PathBuf,
    roots: Roots,
}

/// A root with the file `sub/a`, and a secret beside it.
fn site() -> Site {
    let kept = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(kept.path()).unwrap();
    fs::create_dir_all(path.join("root/sub")).unwrap();
    fs::create_dir_all(path.join("else")).unwrap();
    fs::write(path.join("root/sub/a"), "content").unwrap();
    fs::write(path.join("else/a"), "secret").unwrap();
    Site {
        roots: Roots::new([path.join("root")]),
        path,
        _kept: kept,
    }
}

/// Runs a test with `openat2`, and as on a machine without it.
fn both_ways(test: impl Fn(&Site, &Handles<'_>)) {
    for has_openat2 in [true, false] {
        let site = site();
        let handles = Handles {
            has_openat2,
            ..Handles::new(&site.roots)
        };
        test(&site, &handles);
    }
}

#[test]
fn a_file_and_a_directory_are_opened_by_their_real_path() {
    both_ways(|site, handles| {
        let mut text = String::new();
        let mut file = handles.file(&site.path.join("root/sub/a")).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "content");
        assert_eq!(handles.names(&site.path.join("root/sub")).unwrap(), ["a"]);
        assert_eq!(handles.names(&site.path.join("root")).unwrap(), ["sub"]);
    });
}

#[test]
fn a_link_at_the_end_and_on_the_way_is_not_followed() {
    both_ways(|site, handles| {
        let file = site.path.join("root/sub/a");
        for target in ["../../else/a", "/etc/hostname", "b"] {
            fs::remove_file(&file).unwrap();
            symlink(target, &file).unwrap();
            let error = handles.file(&file).unwrap_err();
            assert!(is_other_path(&error), "{target}: {error}");
        }
        fs::rename(site.path.join("root/sub"), site.path.join("root/kept")).unwrap();
        symlink("../else", site.path.join("root/sub")).unwrap();
        for error in [
            handles.file(&file).unwrap_err(),
            handles.names(&site.path.join("root/sub")).unwrap_err(),
        ] {
            assert!(is_other_path(&error), "{error}");
        }
    });
}

#[test]
fn a_path_outside_of_the_roots_is_not_opened() {
    both_ways(|site, handles| {
        for outside in ["else/a", "root/../else/a", "rooted"] {
            assert!(handles.file(&site.path.join(outside)).is_err(), "{outside}");
        }
        assert!(handles.file(Path::new("/proc/self/environ")).is_err());
    });
}

#[test]
fn a_pipe_blocks_nobody() {
    both_ways(|site, handles| {
        let pipe = site.path.join("root/pipe");
        mkfifo(&pipe, PipeMode::S_IRWXU).unwrap();
        let opened = handles.file(&pipe).unwrap();
        assert!(opened.metadata().unwrap().file_type().is_fifo());
        assert!(regular_file(&pipe).unwrap().is_none());
    });
}
