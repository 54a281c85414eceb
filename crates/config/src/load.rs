//! From files to a configuration.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::context::LoadContext;
use crate::decode::source::read_all;
use crate::decode::template::Templates;
use crate::decode::tree::Part;
use crate::report::original::ProblemKind;
use crate::report::problem::{Problem, Report, Severity};
use crate::report::sink::Sink;
use crate::top_level::decode;

/// A configuration that can be used, and what is doubtful about it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Things that do not mean what they seem to; may be empty.
    pub warnings: Report,
    /// Problems of modules: the tasks that use these modules fail.
    pub module_problems: Report,
}

impl Loaded {
    /// The warnings, with the problems of modules among them.
    pub fn all_warnings(&self) -> Report {
        let modules = self.module_problems.problems().iter();
        let modules = modules.map(|problem| Problem {
            severity: Severity::Warning,
            ..problem.clone()
        });
        let warnings = self.warnings.problems().iter().cloned();
        Report::new(warnings.chain(modules).collect())
    }
}

/// Why no usable configuration was found.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The files have problems, every one of which is listed.
    #[error(transparent)]
    Problems(#[from] Report),
    /// No path holds a configuration file; why the ones given do not count, if they exist.
    #[error("no configuration files found")]
    NothingFound(Report),
}

/// Loads and merges the files at `paths`, each a file or a directory; of what is given twice the later
/// one wins (docs/configuration.md#files).
pub fn load(paths: &[PathBuf], context: &LoadContext<'_>) -> Result<Loaded, ConfigError> {
    let sink = Sink::new(context.current_dir);
    let (found, config) = read_and_decode(paths, context, &sink);
    let (errors, warnings) = sink.into_parts();
    let of_module = |problem: &Problem| problem.kind == ProblemKind::Module;
    if !errors.iter().all(of_module) {
        return Err(Report::new(errors).into());
    }
    let warnings = Report::new(warnings);
    if found == 0 {
        return Err(ConfigError::NothingFound(warnings));
    }
    Ok(Loaded {
        config,
        warnings,
        module_problems: Report::new(errors),
    })
}

/// Everything there is to say about the files at `paths`: errors and warnings in one report. They
/// can be used if no error is among it.
pub fn check(paths: &[PathBuf], context: &LoadContext<'_>) -> Report {
    let sink = Sink::new(context.current_dir);
    let (found, _) = read_and_decode(paths, context, &sink);
    if found == 0 {
        sink.error_outside(ConfigError::NothingFound(Report::default()).to_string());
    }
    sink.into_report()
}

/// How many files were found, and what they say as far as it could be understood.
fn read_and_decode(paths: &[PathBuf], context: &LoadContext<'_>, sink: &Sink) -> (usize, Config) {
    let (found, files) = read_all(paths, sink);
    let directories = directories(&found, context.current_dir);
    let parts: Vec<Part<'_>> = files.iter().map(Part::of_file).collect();
    let mut templates = Templates::new(sink);
    for part in &parts {
        templates.look_through(part);
    }
    let config = decode(parts, directories, context, sink);
    templates.finish(config.vault.is_some());
    (found.len(), config)
}

/// Where the files are, and where links to them lead.
fn directories(files: &[PathBuf], current_dir: &Path) -> Vec<PathBuf> {
    let mut directories = BTreeSet::new();
    for file in files {
        let file = current_dir.join(file);
        let real = fs::canonicalize(&file).ok();
        let places = std::iter::once(file).chain(real);
        directories.extend(places.filter_map(|place| Some(place.parent()?.to_owned())));
    }
    directories.into_iter().collect()
}
