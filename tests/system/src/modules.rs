//! Terraform modules for tests. They use the built-in `terraform_data` only, so nothing is downloaded.

/// A task block for `cts.hcl` that watches services; `more` is further text of the block.
pub fn task(name: &str, module: &str, services: &[&str], more: &str) -> String {
    format!(
        "task {{\n  name = \"{name}\"\n  module = \"{module}\"\n  \
         condition \"services\" {{ names = {services:?} }}\n  {more}\n}}\n"
    )
}

/// Keeps its input in its state, see [`crate::recorded_services`].
pub const RECORDER: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "recorded" {
  input = var.services
}
"#;

/// Records keys, beside [`RECORDER`].
pub const KEY_RECORDER: &str = r#"
variable "consul_kv" {
  type = any
}

resource "terraform_data" "keys" {
  input = var.consul_kv
}
"#;

/// Runs [`STEP_SCRIPT`] for every set of instance ids. `@SITE@` and `@TASK@` are to be replaced.
/// An instance with the tag `broken` makes it fail.
pub const STEPS: &str = r#"
variable "services" {
  type = any
}

locals {
  ids    = join(",", sort([for service in values(var.services) : service.id]))
  broken = anytrue([for service in values(var.services) : contains(service.tags, "broken")])
}

resource "terraform_data" "recorded" {
  input            = var.services
  triggers_replace = [local.ids, local.broken]

  provisioner "local-exec" {
    command     = "exec sh ./step.sh"
    working_dir = path.module
    environment = {
      BROKEN  = local.broken ? "yes" : ""
      HOLD    = "@SITE@/hold"
      IDS     = local.ids
      JOURNAL = "@SITE@/@TASK@.journal"
    }
  }
}
"#;

/// Writes `begin PID IDS` and `end PID IDS` into the journal, PID being Terraform's, and waits between
/// the two while the file `hold` exists. Writes `overlap …` if a Terraform that began earlier is alive.
pub const STEP_SCRIPT: &str = r#"
for other in $(sed -n 's/^begin \([0-9]*\) .*/\1/p' "$JOURNAL" 2>/dev/null); do
  case "$(sed -n 's/^State:[[:space:]]*//p' "/proc/$other/status" 2>/dev/null)" in
  '' | Z* | X*) ;;
  *) echo "overlap $other $PPID" >>"$JOURNAL" ;;
  esac
done
echo "begin $PPID $IDS" >>"$JOURNAL"
echo "a step for <$IDS>"
while [ -e "$HOLD" ]; do sleep 0.1; done
if [ -n "$BROKEN" ]; then
  echo "broken for <$IDS>" >&2
  exit 1
fi
echo "end $PPID $IDS" >>"$JOURNAL"
"#;

/// Makes the file `made` of the site. When it is destroyed, it writes a line into `begun`, waits while the file
/// `hold` exists, and removes the file that it made. `@SITE@` is to be replaced.
pub const MADE_FILE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "file" {
  input = "@SITE@"

  provisioner "local-exec" {
    command = "touch '${self.input}/made'"
  }

  provisioner "local-exec" {
    when    = destroy
    command = "echo >>'${self.input}/begun'; while [ -e '${self.input}/hold' ]; do sleep 0.1; done; rm -f '${self.input}/made'"
  }
}
"#;
