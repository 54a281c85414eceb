//! Makes the manual pages of the definitions of the command line.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use clap::CommandFactory as _;

#[expect(dead_code, reason = "only the definitions are of interest here")]
#[path = "src/cli"]
mod cli {
    //! The definitions, where the program has them.

    pub(crate) mod arguments;
    pub(crate) mod groups;
}

#[path = "src/commands"]
mod commands {
    //! Where `arguments` looks for them.

    pub(crate) mod config {
        mod arguments;
        pub(crate) use arguments::ConfigCommand;
    }

    pub(crate) mod task {
        mod arguments;
        pub(crate) use arguments::{Import, RunsCommand, TaskCommand};
    }
}

const SOURCES: [&str; 4] = [
    "src/cli/arguments.rs",
    "src/cli/groups.rs",
    "src/commands/config/arguments.rs",
    "src/commands/task/arguments.rs",
];

fn main() -> io::Result<()> {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    let out = out.ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    let mut command = cli::arguments::Arguments::command();
    command.build();
    let mut list = String::from("&[\n");
    pages(&command, &out, &mut list)?;
    list.push_str("]\n");
    fs::write(out.join("pages.rs"), list)
}

/// Writes the page of a command and of all below it, and adds them to the list.
fn pages(command: &clap::Command, out: &Path, list: &mut String) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = out.join(format!("{name}.1"));
    let page = clap_mangen::Man::new(for_page(command.clone())).manual("cts");
    page.render(&mut fs::File::create(&path)?)?;
    let entry = writeln!(
        list,
        "    ({name:?}, include_str!({:?})),",
        path.display().to_string()
    );
    entry.map_err(io::Error::other)?;
    for command in command.get_subcommands() {
        pages(command, out, list)?;
    }
    Ok(())
}

/// With what clap shows elsewhere only: other names of options.
fn for_page(command: clap::Command) -> clap::Command {
    command.mut_args(|option| {
        if option.get_id() == "help" {
            return option.help("Print help");
        }
        let names = option.get_visible_aliases().unwrap_or_default();
        let Some(name) = names.first() else {
            return option;
        };
        let help = option.get_help().map(ToString::to_string);
        let help = format!("{} (also --{name})", help.unwrap_or_default());
        option.help(help)
    })
}
