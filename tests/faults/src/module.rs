//! The Terraform module of every task, and its notes while it is at work.

use crate::conditions::KEYS;
use crate::plan::{Instance, Plan};

/// Records its input in the state, and runs [`SCRIPT`] whenever that changes. `@JOURNAL@` and `@TROUBLE@` are
/// to be replaced.
///
/// In addition it makes one resource for each row, and one that never changes: the journal shows when that is
/// made and destroyed.
///
/// The content decides how long the script works: half of all contents do not wait at all, others up to 2.5 s.
const MODULE: &str = r#"
variable "services" {
  type = any
}

variable "consul_kv" {
  type    = map(string)
  default = {}
}

variable "catalog_services" {
  type    = map(list(string))
  default = {}
}

locals {
  instances = [
    for service in values(var.services) :
    join("/", [
      service.id, service.port, join(".", sort(service.tags)), try(service.meta["version"], "")
    ])
  ]
  keys = [for key, value in var.consul_kv : "${trimprefix(key, "@KEYS@")}/${value}"]
  rows = sort(concat(local.instances, local.keys, keys(var.catalog_services)))
  text  = join(";", local.rows)
  beats = max(0, (parseint(substr(md5(local.text), 0, 2), 16) - 128) / 5)
}

resource "terraform_data" "kept" {
  input = "@JOURNAL@"

  provisioner "local-exec" {
    command     = "exec sh ./step.sh made"
    working_dir = path.module
    environment = { JOURNAL = self.input }
  }

  provisioner "local-exec" {
    when        = destroy
    command     = "exec sh ./step.sh gone"
    working_dir = path.module
    environment = { JOURNAL = self.input }
  }
}

resource "terraform_data" "row" {
  for_each = toset(local.rows)
}

resource "terraform_data" "recorded" {
  input            = local.text
  triggers_replace = [local.text]

  provisioner "local-exec" {
    command     = "exec sh ./step.sh"
    working_dir = path.module
    environment = {
      BEATS   = floor(local.beats)
      JOURNAL = "@JOURNAL@"
      TEXT    = local.text
      TROUBLE = "@TROUBLE@"
    }
  }
}
"#;

/// Lines are `WORD PID START WORKER UPTIME TEXT`: the process id of Terraform and when that was started (clock
/// ticks since the machine was), the worker, and the time by the machine's monotonic clock.
const SCRIPT: &str = r#"
start_of() {
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  set -- ${stat##*) }
  case "$1" in Z | X) return 1 ;; esac
  start=${20}
}
note() {
  read -r now _ </proc/uptime
  echo "$1 $me $now $2" >>"$JOURNAL"
}
start_of "$PPID" || exit 1
me="$PPID $start ${CTS_WORKER:-none}"
case "$1" in made | gone)
  note "$1"
  exit
  ;;
esac
tail -n 300 "$JOURNAL" 2>/dev/null | sed -n 's/^begin \([0-9]*\) \([0-9]*\) .*/\1 \2/p' | tail -n 5 |
  while read -r pid started; do
    if [ "$pid $started" != "${me% *}" ] && start_of "$pid" && [ "$start" = "$started" ]; then
      note overlap "$pid"
    fi
  done
note begin "$TEXT"
trouble=
read -r trouble 2>/dev/null <"$TROUBLE"
case "$trouble" in
fail-midway)
  note fails
  echo "the fault suite lets this apply fail" >&2
  exit 1
  ;;
die-midway)
  kill -KILL "$PPID"
  exit 1
  ;;
esac
while [ "$BEATS" -gt 0 ]; do
  sleep 0.1
  note beat
  BEATS=$((BEATS - 1))
done
note end "$TEXT"
"#;

/// Names and texts of the module's files for the journal at `journal` and the misbehaviour that the file at
/// `trouble` names.
pub(crate) fn files(journal: &str, trouble: &str) -> [(&'static str, String); 2] {
    [
        (
            "main.tf",
            MODULE
                .replace("@KEYS@", KEYS)
                .replace("@JOURNAL@", journal)
                .replace("@TROUBLE@", trouble),
        ),
        ("step.sh", SCRIPT.to_owned()),
    ]
}

/// The text that the module makes of instances: one row each, sorted.
pub(crate) fn text<'a>(instances: impl IntoIterator<Item = (String, &'a Instance)>) -> String {
    let instances = instances.into_iter();
    joined(instances.map(|(id, instance)| format!("{id}/{}", value(instance))))
}

/// Any rows as one text, sorted.
pub(crate) fn joined(rows: impl IntoIterator<Item = String>) -> String {
    let mut rows: Vec<String> = rows.into_iter().collect();
    rows.sort();
    rows.join(";")
}

/// The value of an instance in the key/value store.
pub(crate) fn value(instance: &Instance) -> String {
    let tags = instance.tags.join(".");
    format!("{}/{tags}/{}", instance.port, instance.version)
}

/// Id of the instance at a place of a service.
pub(crate) fn instance_id(service: usize, place: u64) -> String {
    format!("{}-{place}", Plan::service(service))
}
