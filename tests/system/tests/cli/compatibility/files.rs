//! Task files and configurations for the command lines.

/// Files of the command lines.
pub(crate) const FILES: [(&str, &str); 9] = [
    (
        "commits.hcl",
        "terraform_provider \"panos\" {\n  alias = \"x\"\n  username = \"u\"\n  auto_commit = true\n}\n\
         task {\n  name = \"a\"\n  module = \"a/b/c\"\n  providers = [\"panos.x\"]\n  condition \"services\" { names = [\"w\"] }\n}\n\
         task {\n  name = \"b\"\n  module = \"a/b/c\"\n  providers = [\"panos\"]\n  condition \"services\" { names = [\"w\"] }\n}\n",
    ),
    ("port.hcl", "port = 70000\n"),
    ("unknown.hcl", "prot = 1\n"),
    (
        "schedule.hcl",
        "consul { address = \"127.0.0.1:1\" }\n\
         task {\n  name = \"nightly\"\n  module = \"a/b/c\"\n  buffer_period { min = \"1s\" }\n  \
         condition \"schedule\" { cron = \"@daily\" }\n}\n",
    ),
    (
        "nameless.hcl",
        "task {\n  module = \"a/b/c\"\n  condition \"services\" { names = [\"w\"] }\n}\n",
    ),
    (
        "pathless.hcl",
        "task {\n  name = \"a\"\n  module = \"a/b/c\"\n  condition \"consul-kv\" {}\n}\n",
    ),
    (
        "expressionless.hcl",
        "task {\n  name = \"a\"\n  module = \"a/b/c\"\n  condition \"catalog-services\" {}\n}\n",
    ),
    (
        "timeless.hcl",
        "task {\n  name = \"a\"\n  module = \"a/b/c\"\n  condition \"schedule\" {}\n}\n",
    ),
    (
        "moduleless.hcl",
        "task {\n  name = \"a\"\n  condition \"services\" { names = [\"w\"] }\n}\n",
    ),
];
