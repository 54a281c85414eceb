//! A directory in which cts is started: configuration, modules, and room for copies.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::access::Access;
use crate::arguments::Modules;
use crate::cluster::Cluster;

/// The service that all tasks watch, if they share one.
pub(crate) const SERVICE: &str = "web";

pub(crate) const CONFIGURATION: &str = "cts.hcl";

/// Path of the task directories, below the site.
pub(crate) const TASK_DIRECTORIES: &str = "sync-tasks";

/// Path at which a worker of the cluster shape unpacks modules, below that.
const BUNDLES: &str = ".bundles";

const BY_HAND: &str = "by-hand";

/// One built-in resource for each instance, so that nothing is downloaded.
const MODULE: &str = r#"variable "services" {
  type = map(object({
    id      = string
    address = string
    port    = number
    meta    = map(string)
  }))
}

resource "terraform_data" "instance" {
  for_each = var.services
  input    = each.value
}
"#;

#[derive(Debug)]
pub(crate) struct Site {
    directory: PathBuf,
    tasks: Vec<String>,
    api_port: u16,
    cluster: Option<Cluster>,
    access: Access,
}

/// So many services, the first of them [`SERVICE`].
pub(crate) fn services(count: u32) -> impl Iterator<Item = String> {
    (0..count).map(|number| match number {
        0 => SERVICE.to_owned(),
        number => format!("service-{number:04}"),
    })
}

/// Settings of the configuration apart from the tasks.
#[derive(Debug)]
pub(crate) struct Settings<'a> {
    pub(crate) consul: &'a str,
    pub(crate) api_port: u16,
    pub(crate) terraform: &'a Path,
    /// Absent for the embedded shape.
    pub(crate) cluster: Option<Cluster>,
}

impl Site {
    /// A site with so many `tasks`, on so many `services` in turn.
    pub(crate) fn create(
        directory: PathBuf,
        settings: Settings<'_>,
        tasks: u32,
        modules: Modules,
        services: u32,
    ) -> Result<Self> {
        let services: Vec<String> = self::services(services).collect();
        let tasks: Vec<String> = (1..=tasks).map(|task| format!("task-{task:04}")).collect();
        let write = || {
            let mut text = head(&settings);
            for (task, service) in tasks.iter().zip(services.iter().cycle()) {
                let module = match modules {
                    Modules::Shared => "shared",
                    Modules::Distinct => task.as_str(),
                };
                write_module(&directory.join("modules").join(module))?;
                write_task(&mut text, task, module, service);
            }
            // Next to the directories of cts, so that relative paths out of them stay right.
            let by_hand = directory.join(BY_HAND);
            fs::create_dir_all(&by_hand)?;
            if settings.cluster.is_some() {
                let bundles = Path::new("..").join(TASK_DIRECTORIES).join(BUNDLES);
                symlink(bundles, by_hand.join(BUNDLES))?;
            }
            fs::write(directory.join(CONFIGURATION), text)
        };
        write().with_context(|| format!("cannot set up {}", directory.display()))?;
        Ok(Self {
            directory,
            tasks,
            api_port: settings.api_port,
            cluster: settings.cluster,
            access: Access::Open,
        })
    }

    /// Returns the site with names of tasks that are as long as those of people; before cts starts. The tasks share their
    /// module.
    pub(crate) fn with_long_names(self) -> Result<Self> {
        let tasks = long_names(self.tasks.len());
        let rename = || {
            let path = self.directory.join(CONFIGURATION);
            let before = fs::read_to_string(&path)?;
            let mut names = tasks.iter();
            let mut text = String::new();
            for line in before.lines() {
                let is_name = line.starts_with("  name   = \"task-");
                match is_name.then(|| names.next()).flatten() {
                    Some(name) => text.extend(["  name   = \"", name, "\"\n"]),
                    None => text.extend([line, "\n"]),
                }
            }
            fs::write(path, text)
        };
        rename().context("cannot change the names of the tasks")?;
        Ok(Self { tasks, ..self })
    }

    /// Returns the site with this protection.
    pub(crate) fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// How it is protected.
    pub(crate) const fn access(&self) -> Access {
        self.access
    }

    /// Adds a task on a service of its own; before cts starts.
    pub(crate) fn add_task(&self, name: &str, service: &str) -> Result<()> {
        let add = || {
            let path = self.directory.join(CONFIGURATION);
            let mut text = fs::read_to_string(&path)?;
            write_module(&self.directory.join("modules").join(name))?;
            write_task(&mut text, name, name, service);
            fs::write(path, text)
        };
        add().context("cannot add a task")
    }

    /// Lets the tasks watch something else than the one service; to be called before cts starts. `condition` is
    /// the content of the block `condition "services"`.
    pub(crate) fn watch(&self, condition: &str) -> Result<()> {
        let change = || {
            let path = self.directory.join(CONFIGURATION);
            let text = fs::read_to_string(&path)?;
            let before = format!("names = [\"{SERVICE}\"]");
            fs::write(path, text.replace(&before, condition))
        };
        change().context("cannot change the tasks")
    }

    /// Adds to the configuration; before cts starts.
    pub(crate) fn configure(&self, text: &str) -> Result<()> {
        let path = self.directory.join(CONFIGURATION);
        let file = fs::File::options().append(true).open(path);
        let added = file.and_then(|mut file| file.write_all(text.as_bytes()));
        added.context("cannot add to the configuration")
    }

    /// If it is for the cluster shape.
    pub(crate) fn cluster(&self) -> Result<&Cluster> {
        let cluster = self.cluster.as_ref();
        cluster.context("this directory is for the embedded shape")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    pub(crate) const fn is_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// Port of the REST API.
    pub(crate) const fn api_port(&self) -> u16 {
        self.api_port
    }

    pub(crate) fn tasks(&self) -> &[String] {
        &self.tasks
    }

    /// Directory in which cts works on a task.
    pub(crate) fn task_directory(&self, task: &str) -> PathBuf {
        self.directory.join(TASK_DIRECTORIES).join(task)
    }

    /// Directory in which the same task is applied by hand.
    pub(crate) fn by_hand_directory(&self, task: &str) -> PathBuf {
        self.directory.join(BY_HAND).join(task)
    }
}

/// So many names of 12 to 60 characters, with a kind, a random part and a number. They are the same each time.
fn long_names(count: usize) -> Vec<String> {
    const KINDS: [&str; 4] = ["dns", "edge", "fw", "lb"];
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789_-";
    let mut seed: u32 = 57;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % limit
    };
    let names = (1..=count).map(|number| {
        let number = format!("-{number:05}");
        let length = 12 + below(49);
        let mut name = format!("{}-", KINDS[below(KINDS.len())]);
        while name.len() + number.len() < length {
            name.push(char::from(LETTERS[below(LETTERS.len())]));
        }
        name + &number
    });
    names.collect()
}

fn head(settings: &Settings<'_>) -> String {
    let Settings {
        consul,
        api_port,
        terraform,
        cluster,
    } = settings;
    let cluster = cluster.as_ref().map(Cluster::blocks).unwrap_or_default();
    format!(
        r#"log_level = "INFO"
port      = {api_port}

buffer_period {{
  enabled = false
}}

consul {{
  address = "{consul}"
}}

driver "terraform" {{
  path = "{}"
}}
{cluster}"#,
        terraform.display()
    )
}

fn write_task(text: &mut String, task: &str, module: &str, service: &str) {
    let block = format!(
        r#"
task {{
  name   = "{task}"
  module = "./modules/{module}"

  condition "services" {{
    names = ["{service}"]
  }}
}}
"#
    );
    text.push_str(&block);
}

fn write_module(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("main.tf"), MODULE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn long_names_differ_and_are_the_same_each_time() {
        let names = long_names(10_000);
        assert_eq!(names, long_names(10_000));
        assert!(names.iter().all(|name| (12..=60).contains(&name.len())));
        let lengths: BTreeSet<usize> = names.iter().map(String::len).collect();
        assert_eq!(lengths.len(), 49);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
