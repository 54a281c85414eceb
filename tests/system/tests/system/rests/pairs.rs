//! Changes that are cut off.

/// A change that is cut off, and whether what is left needs another consent.
pub(super) struct Pair {
    pub(super) name: &'static str,
    pub(super) asks: bool,
    resources: &'static str,
}

/// In the text of a resource `@NEW@` is a value that changes, `@KILL@` are commands that kill Terraform once, and
/// `@FAIL@` ones that fail once. Resources that exist only before or after the change have a `count`.
pub(super) const PAIRS: [Pair; 12] = [
    // The object is destroyed and not created yet.
    Pair {
        name: "destroyed_first",
        asks: false,
        resources: r#"
resource "terraform_data" "a" {
  triggers_replace = [@NEW@, "text"]
  input            = { size = 1 }
  depends_on       = [terraform_data.b]
}
resource "terraform_data" "b" {
  triggers_replace = @NEW@
  @KILL@
}
"#,
    },
    // Nothing is created yet, and something else has to be destroyed first.
    Pair {
        name: "destroyed_before_another",
        asks: false,
        resources: r#"
resource "terraform_data" "a" {
  triggers_replace = @NEW@
  depends_on       = [terraform_data.b]
}
resource "terraform_data" "b" {
  triggers_replace = @NEW@
  input            = "@SITE@/@TASK@"
  provisioner "local-exec" {
    when    = destroy
    command = "[ -e '${self.input}' ] || { touch '${self.input}'; kill -9 $PPID; }"
  }
}
"#,
    },
    // The object is created, but not recorded.
    Pair {
        name: "created_unrecorded",
        asks: false,
        resources: r#"
resource "terraform_data" "a" {
  triggers_replace = @NEW@
  @KILL@
}
"#,
    },
    // The new object is there, and the deposed one, too.
    Pair {
        name: "created_first",
        asks: false,
        resources: r#"
resource "terraform_data" "a" {
  triggers_replace = [@NEW@]
  input            = { name = "a" }
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "c" {
  count      = local.late ? 1 : 0
  depends_on = [terraform_data.a]
  @KILL@
}
"#,
    },
    // One object is deposed, and a second object is not replaced yet.
    Pair {
        name: "created_before_another",
        asks: false,
        resources: r#"
resource "terraform_data" "a" {
  triggers_replace = @NEW@
  depends_on       = [terraform_data.b, terraform_data.c]
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "b" {
  triggers_replace = @NEW@
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "c" {
  count      = local.late ? 1 : 0
  depends_on = [terraform_data.b]
  @KILL@
}
"#,
    },
    // Nothing is done yet.
    Pair {
        name: "not_deleted",
        asks: false,
        resources: r#"
resource "terraform_data" "a" {
  count = local.late ? 0 : 1
  input = "@SITE@/@TASK@"
  provisioner "local-exec" {
    when    = destroy
    command = "[ -e '${self.input}' ] || { touch '${self.input}'; kill -9 $PPID; }"
  }
}
"#,
    },
    // One of two objects is deleted.
    Pair {
        name: "half_deleted",
        asks: false,
        resources: r#"
resource "terraform_data" "a" {
  count      = local.late ? 0 : 1
  depends_on = [terraform_data.b]
}
resource "terraform_data" "b" {
  count = local.late ? 0 : 1
  input = "@SITE@/@TASK@"
  provisioner "local-exec" {
    when    = destroy
    command = "[ -e '${self.input}' ] || { touch '${self.input}'; kill -9 $PPID; }"
  }
}
"#,
    },
    // An object is replaced, and a second object is not updated yet.
    Pair {
        name: "not_updated",
        asks: false,
        resources: r#"
resource "terraform_data" "a" {
  input      = { size = @NEW@ }
  depends_on = [terraform_data.c]
}
resource "terraform_data" "b" {
  triggers_replace = @NEW@
}
resource "terraform_data" "c" {
  count      = local.late ? 1 : 0
  depends_on = [terraform_data.b]
  @KILL@
}
"#,
    },
    // A value was unknown when the effect was approved.
    Pair {
        name: "known_now",
        asks: false,
        resources: r#"
resource "terraform_data" "a" {
  input      = { of = terraform_data.b.id }
  depends_on = [terraform_data.c]
}
resource "terraform_data" "b" {
  triggers_replace = @NEW@
}
resource "terraform_data" "c" {
  count      = local.late ? 1 : 0
  depends_on = [terraform_data.b]
  @KILL@
}
"#,
    },
    // The object is there, and to be replaced again.
    Pair {
        name: "tainted",
        asks: true,
        resources: r#"
resource "terraform_data" "a" {
  triggers_replace = @NEW@
  @FAIL@
}
"#,
    },
    // Like the pair above, with a deposed object.
    Pair {
        name: "tainted_and_deposed",
        asks: true,
        resources: r#"
resource "terraform_data" "a" {
  triggers_replace = @NEW@
  lifecycle {
    create_before_destroy = true
  }
  @FAIL@
}
"#,
    },
    // The object that is missing would have another value.
    Pair {
        name: "another_value",
        asks: true,
        resources: r#"
resource "terraform_data" "a" {
  triggers_replace = @NEW@
  input            = fileexists("@SITE@/@TASK@") ? "another" : "approved"
  depends_on       = [terraform_data.b]
}
resource "terraform_data" "b" {
  triggers_replace = @NEW@
  @KILL@
}
"#,
    },
];

const HEAD: &str = r#"
variable "services" {
  type = any
}

locals {
  late = length(var.services) > 1
}
"#;

/// Ends Terraform, or the command, the first time after the change.
const ONCE: &str = r#"provisioner "local-exec" {
    command = "[ $LATE = no -o -e '@SITE@/@TASK@' ] || { touch '@SITE@/@TASK@'; @HOW@; }"
    environment = {
      LATE = local.late ? "yes" : "no"
    }
  }"#;

impl Pair {
    pub(super) fn module(&self, site: &str) -> String {
        let text = HEAD.to_owned() + self.resources;
        text.replace("@KILL@", &ONCE.replace("@HOW@", "kill -9 $PPID"))
            .replace("@FAIL@", &ONCE.replace("@HOW@", "exit 1"))
            .replace("@NEW@", "(local.late ? 2 : 1)")
            .replace("@SITE@", site)
            .replace("@TASK@", self.name)
    }
}
