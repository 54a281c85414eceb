//! The files of a user's shells.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{Edit, EditError, Home};

fn program() -> &'static Path {
    Path::new("/opt/bin/consul-terraform-sync")
}

const BASH: &str = "complete -C /opt/bin/consul-terraform-sync consul-terraform-sync";
const ZSH: &str = "complete -o nospace -C /opt/bin/consul-terraform-sync consul-terraform-sync";

/// A home with these files, each with a line in it.
fn home(files: &[&str]) -> (TempDir, Home) {
    let directory = tempfile::tempdir().unwrap();
    for file in files {
        fs::write(directory.path().join(file), "alias l=ls\n").unwrap();
    }
    let home = Home {
        directory: directory.path().to_owned(),
        config: directory.path().join(".config"),
    };
    (directory, home)
}

fn text(home: &Home, file: &str) -> String {
    fs::read_to_string(home.directory.join(file)).unwrap()
}

#[test]
fn bash_gets_a_line_in_the_first_of_its_files() {
    let (_directory, home) = home(&[".profile", ".bash_profile"]);
    home.edit(Edit::Install, program()).unwrap();
    assert_eq!(
        text(&home, ".bash_profile"),
        format!("alias l=ls\n\n{BASH}\n")
    );
    assert_eq!(text(&home, ".profile"), "alias l=ls\n");
    home.edit(Edit::Uninstall, program()).unwrap();
    assert_eq!(text(&home, ".bash_profile"), "alias l=ls\n\n");
}

#[test]
fn zsh_gets_what_it_needs_for_that_line() {
    let (_directory, home) = home(&[".zshrc"]);
    let prepares = "autoload -U +X bashcompinit && bashcompinit";
    home.edit(Edit::Install, program()).unwrap();
    assert_eq!(
        text(&home, ".zshrc"),
        format!("alias l=ls\n\n{prepares}\n{ZSH}\n")
    );
    let other = Path::new("/usr/bin/consul-terraform-sync");
    home.edit(Edit::Install, other).unwrap();
    assert_eq!(text(&home, ".zshrc").matches(prepares).count(), 1);
    home.edit(Edit::Uninstall, program()).unwrap();
    assert!(!text(&home, ".zshrc").contains(ZSH));
    assert!(text(&home, ".zshrc").contains("-C /usr/bin/consul-terraform-sync"));
}

#[test]
fn fish_gets_a_file() {
    let (_directory, home) = home(&[]);
    let path = ".config/fish/completions/consul-terraform-sync.fish";
    fs::create_dir_all(home.config.join("fish")).unwrap();
    home.edit(Edit::Install, program()).unwrap();
    let function = text(&home, path);
    assert!(function.contains("set -lx COMP_LINE"), "{function}");
    assert!(
        function.contains("'/opt/bin/consul-terraform-sync'"),
        "{function}"
    );
    home.edit(Edit::Uninstall, program()).unwrap();
    assert!(!home.directory.join(path).exists());
}

#[test]
fn a_path_with_spaces_is_one_word_for_the_shell_and_for_what_it_runs() {
    let (_directory, home) = home(&[".bashrc"]);
    home.edit(Edit::Install, Path::new("/my bin/sync")).unwrap();
    let line = r"complete -C ''\''/my bin/sync'\''' consul-terraform-sync";
    assert!(
        text(&home, ".bashrc").contains(line),
        "{}",
        text(&home, ".bashrc")
    );
}

#[test]
fn one_shell_that_fails_makes_the_whole_fail_and_the_others_are_changed() {
    let (_directory, home) = home(&[".bashrc", ".zshrc"]);
    fs::write(home.directory.join(".bashrc"), format!("{BASH}\n")).unwrap();
    let error = home.edit(Edit::Install, program()).unwrap_err();
    assert!(
        error.to_string().contains("already installed in"),
        "{error}"
    );
    assert!(error.to_string().contains(".bashrc"), "{error}");
    assert!(text(&home, ".zshrc").contains(ZSH));
}

#[test]
fn reports_why_an_edit_is_impossible() {
    let (_directory, empty) = home(&[]);
    let error = empty.edit(Edit::Install, program()).unwrap_err();
    assert!(matches!(error, EditError::NoShell { .. }), "{error}");
    let error = empty.edit(Edit::Both, program()).unwrap_err();
    assert!(matches!(error, EditError::Both), "{error}");
    let (_directory, other) = home(&[".bashrc"]);
    let error = other.edit(Edit::Uninstall, program()).unwrap_err();
    assert!(error.to_string().contains("not installed in"), "{error}");
}
