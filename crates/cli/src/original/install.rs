//! Completion in the files of the user's shells (docs/cli.md#completion).

#[cfg(test)]
mod tests;

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cts_runtime::ProcessEnv;
use nix::unistd::{User, getuid};

use super::NAME;
use crate::answer::Answer;
use crate::exit_code::EXIT_GROUP;

/// Change of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Make every shell complete.
    Install,
    /// Undo that.
    Uninstall,
    /// Install and uninstall were both requested, which is invalid.
    Both,
}

/// Completion could not be installed or removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// Install and uninstall were both requested.
    #[error("-autocomplete-install and -autocomplete-uninstall exclude each other")]
    Both,
    /// This user has no shell that can complete.
    #[error("found no file of bash, zsh or fish in {}", home.display())]
    NoShell {
        /// Directory in which the shells were searched.
        home: PathBuf,
    },
    /// The files of some shells could not be changed; those of the other shells were.
    #[error("{}", .0.iter().map(|failure| cts_core::Chain(failure).to_string()).collect::<Vec<_>>().join("; "))]
    Shells(Vec<ShellError>),
}

/// A file of one shell could not be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShellError {
    /// There is nothing to do.
    #[error("already installed in {}", .0.display())]
    Installed(PathBuf),
    /// There is nothing to undo.
    #[error("not installed in {}", .0.display())]
    NotInstalled(PathBuf),
    /// The operating system refused an operation.
    #[error("cannot change {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Directories of a user's shell files.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The home directory.
    pub(crate) directory: PathBuf,
    /// The directory of configurations, usually `.config` in it.
    pub(crate) config: PathBuf,
}

/// Edits the files; an error names the whole command line.
pub(crate) fn answer(
    edit: Edit,
    called: &OsStr,
    words: &[OsString],
    process_env: &ProcessEnv,
) -> Answer {
    match edit_files(edit, called, process_env) {
        Ok(()) => Answer::default(),
        Err(error) => {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            let line = format!("{} {}", NAME, words.join(" "));
            Answer::complaint(format!("error: {line}: {error}\n"), EXIT_GROUP)
        }
    }
}

fn edit_files(edit: Edit, called: &OsStr, process_env: &ProcessEnv) -> Result<(), Box<dyn Error>> {
    let absolute = |name: &str| {
        let path = process_env.environment.get(OsStr::new(name));
        path.map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let directory = match absolute("HOME") {
        Some(directory) => directory,
        None => home_of_user()?,
    };
    let home = Home {
        config: absolute("XDG_CONFIG_HOME").unwrap_or_else(|| directory.join(".config")),
        directory,
    };
    Ok(home.edit(edit, &program_path(called, process_env))?)
}

/// Home directory in the database of users.
fn home_of_user() -> Result<PathBuf, Box<dyn Error>> {
    let user = User::from_uid(getuid())?
        .ok_or_else(|| io::Error::other("this user is not in the database of users: set HOME"))?;
    Ok(user.dir)
}

/// The path that the program was called by. Links are not followed, for the name of a link is what makes
/// the program the original.
fn program_path(called: &OsStr, process_env: &ProcessEnv) -> PathBuf {
    if called.as_encoded_bytes().contains(&b'/') {
        let path = process_env.current_dir.join(called);
        // Without `.` between the directories.
        return path.components().collect();
    }
    let search = process_env.environment.get(OsStr::new("PATH"));
    let directories = search.into_iter().flat_map(std::env::split_paths);
    let mut paths =
        directories.map(|directory| process_env.current_dir.join(directory).join(called));
    paths
        .find(|path| path.is_file())
        .unwrap_or_else(|| called.into())
}

impl Home {
    /// Edits the files of all shells that this user has.
    pub(crate) fn edit(&self, edit: Edit, program: &Path) -> Result<(), EditError> {
        let change = match edit {
            Edit::Install => ShellFile::install,
            Edit::Uninstall => ShellFile::uninstall,
            Edit::Both => return Err(EditError::Both),
        };
        let files = [self.bash(), self.zsh(), self.fish()];
        if files.iter().all(Option::is_none) {
            return Err(EditError::NoShell {
                home: self.directory.clone(),
            });
        }
        let results = files.iter().flatten().map(|file| change(file, program));
        let failures: Vec<_> = results.filter_map(Result::err).collect();
        if failures.is_empty() {
            Ok(())
        } else {
            Err(EditError::Shells(failures))
        }
    }

    fn bash(&self) -> Option<ShellFile> {
        let names: &[&str] = if cfg!(target_os = "macos") {
            &[".bash_profile"]
        } else {
            &[".bashrc", ".bash_profile", ".bash_login", ".profile"]
        };
        let mut paths = names.iter().map(|name| self.directory.join(name));
        paths.find(|path| path.is_file()).map(ShellFile::Bash)
    }

    fn zsh(&self) -> Option<ShellFile> {
        let path = self.directory.join(".zshrc");
        path.is_file().then_some(ShellFile::Zsh(path))
    }

    fn fish(&self) -> Option<ShellFile> {
        let directory = self.config.join("fish");
        let path = directory.join("completions").join(format!("{NAME}.fish"));
        directory.is_dir().then_some(ShellFile::Fish(path))
    }
}

/// A file that a shell reads.
#[derive(Debug)]
enum ShellFile {
    /// File of bash, which has other content as well.
    Bash(PathBuf),
    /// File of the Z shell, which has other content as well.
    Zsh(PathBuf),
    /// File of fish, for the completion alone.
    Fish(PathBuf),
}

const ZSH_PREPARES: &str = "autoload -U +X bashcompinit && bashcompinit";

impl ShellFile {
    fn install(&self, program: &Path) -> Result<(), ShellError> {
        match self {
            Self::Bash(path) => append(path, &bash_line(program), None),
            Self::Zsh(path) => append(path, &zsh_line(program), Some(ZSH_PREPARES)),
            Self::Fish(path) => {
                if path.exists() {
                    return Err(ShellError::Installed(path.clone()));
                }
                let directory = path.parent().unwrap_or(path);
                fs::create_dir_all(directory)
                    .and_then(|()| fs::write(path, fish_function(program)))
                    .map_err(|source| failed(path, source))
            }
        }
    }

    fn uninstall(&self, program: &Path) -> Result<(), ShellError> {
        match self {
            Self::Bash(path) => remove(path, &bash_line(program)),
            Self::Zsh(path) => remove(path, &zsh_line(program)),
            Self::Fish(path) => match fs::remove_file(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Err(ShellError::NotInstalled(path.clone()))
                }
                result => result.map_err(|source| failed(path, source)),
            },
        }
    }
}

fn bash_line(program: &Path) -> String {
    format!("complete -C {} {NAME}", quoted(program))
}

fn zsh_line(program: &Path) -> String {
    format!("complete -o nospace -C {} {NAME}", quoted(program))
}

fn fish_function(program: &Path) -> String {
    let path = program
        .display()
        .to_string()
        .replace('\\', "\\\\")
        .replace('\'', "\\'");
    format!(
        "function __complete_{NAME}\n    set -lx COMP_LINE (commandline -cp)\n    \
         test -z (commandline -ct); and set COMP_LINE \"$COMP_LINE \"\n    \
         '{path}'\nend\ncomplete -f -c {NAME} -a \"(__complete_{NAME})\"\n"
    )
}

/// The path as one word; the shell evaluates the word once more as a command before it runs the path.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:".contains(c);
    if path.chars().all(plain) {
        return path;
    }
    let once = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    once(&once(&path))
}

/// Appends a line after an empty line, preceded by `preparation` if that is missing.
fn append(path: &Path, line: &str, preparation: Option<&str>) -> Result<(), ShellError> {
    let content = fs::read(path).map_err(|source| failed(path, source))?;
    let has = |line: &str| {
        content
            .split(|byte| *byte == b'\n')
            .any(|other| other == line.as_bytes())
    };
    if has(line) {
        return Err(ShellError::Installed(path.to_owned()));
    }
    let mut text = String::from("\n");
    for line in preparation
        .filter(|line| !has(line))
        .into_iter()
        .chain([line])
    {
        text.push_str(line);
        text.push('\n');
    }
    OpenOptions::new()
        .append(true)
        .open(path)
        .and_then(|mut file: File| file.write_all(text.as_bytes()))
        .map_err(|source| failed(path, source))
}

/// Removes the line at any position. The file is rewritten in place, so that it stays the same file with the same
/// owner, and a link stays a link.
fn remove(path: &Path, line: &str) -> Result<(), ShellError> {
    let content = fs::read(path).map_err(|source| failed(path, source))?;
    let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    let kept: Vec<&[u8]> = lines
        .iter()
        .copied()
        .filter(|other| *other != line.as_bytes())
        .collect();
    if kept.len() == lines.len() {
        return Err(ShellError::NotInstalled(path.to_owned()));
    }
    fs::write(path, kept.join(&b'\n')).map_err(|source| failed(path, source))
}

fn failed(path: &Path, source: io::Error) -> ShellError {
    ShellError::File {
        path: path.to_owned(),
        source,
    }
}
