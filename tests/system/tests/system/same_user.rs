//! Modules run as the user of cts, and still find none of its credentials in `/proc`.

use std::fs;
use std::io::ErrorKind;

use cts_testkit::{ConsulAgent, Postgres, assert_contains};
use cts_tests::{Backend, Instance, Shape, Site, task};
use nix::unistd::geteuid;

const CONSUL_TOKEN: &str = "consul-token-4711";
const VAULT_TOKEN: &str = "vault-token-4711";
const DATABASE_PASSWORD: &str = "database-password-4711";
const OTHER_PASSWORD: &str = "other-password-4711";
const SECRETS: [&str; 4] = [CONSUL_TOKEN, VAULT_TOKEN, DATABASE_PASSWORD, OTHER_PASSWORD];

/// Looks at everything that it can see of every process, and notes what was allowed.
const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "thief" {
  provisioner "local-exec" {
    command = "exec sh ./look.sh >'@SITE@/evidence' 2>/dev/null"
    working_dir = path.module
  }
}
"#;

/// Pipes and devices are not read: they could hold up the run.
const LOOK: &str = r#"
id -u | sed 's/^/user /'
for process in /proc/[0-9]*; do
  pid="${process#/proc/}"
  for name in environ cmdline auxv; do
    echo
    cat "$process/$name" && echo " <- read $name of $pid"
  done
  (: <"$process/mem") && echo "opened mem of $pid"
  ls "$process/fd" >/dev/null && echo "listed fd of $pid"
  readlink "$process/cwd" >/dev/null && echo "found cwd of $pid"
  for file in "$process"/fd/*; do
    [ -f "$file" ] && head -c 1000000 "$file"
  done
done
echo done
"#;

fn assert_no_secret(text: &[u8], place: &str) {
    for secret in SECRETS {
        let mut windows = text.windows(secret.len());
        let found = windows.any(|part| part == secret.as_bytes());
        assert!(!found, "{secret} is in {place}");
    }
}

/// A site whose processes are an unprivileged user's, with a task that looks around and credentials in the environment.
async fn site(consul: &ConsulAgent) -> (Site, String) {
    let mut site = Site::new();
    site.give_up_privileges();
    let path = site.path().to_str().unwrap().to_owned();
    site.write("modules/thief/main.tf", &MODULE.replace("@SITE@", &path));
    site.write("modules/thief/look.sh", LOOK);
    let thief = task("thief", "./modules/thief", &["web"], "");
    site.configure(&consul.address(), Backend::Shared, &thief);
    let database = Postgres::shared().await.create_database().await;
    let (user, host) = database.split_once('@').unwrap();
    let url = format!("{user}:{DATABASE_PASSWORD}@{host}");
    site.set_environment("CTS_DATABASE_URL", url);
    site.set_environment("CONSUL_HTTP_TOKEN", CONSUL_TOKEN);
    site.set_environment("VAULT_TOKEN", VAULT_TOKEN);
    site.set_environment("PGPASSWORD", OTHER_PASSWORD);
    (site, database)
}

#[tokio::test]
async fn a_module_cannot_read_the_credentials_of_cts_in_proc() {
    let consul = ConsulAgent::start().await;
    let (site, database) = site(&consul).await;
    if Shape::of_this_run() == Shape::Embedded {
        let migrated = site.run("cts", &["migrate"], "migrate.log").wait().await;
        migrated.assert_code(0);
    }
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("thief", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    let pid = cts.worker_pid();

    let evidence = fs::read(site.path().join("evidence")).unwrap();
    let text = String::from_utf8_lossy(&evidence);
    let has = |line: &str| text.lines().any(|found| found.ends_with(line));
    assert!(
        has("done") && !has("user 0"),
        "it has looked without privileges"
    );
    // The module can look at processes of its user, such as Terraform.
    let marker = format!("TEST_SITE={}", site.path().display());
    assert_contains(&text, [&marker, "<- read environ of ", "opened mem of "]);
    for refused in [
        format!("read environ of {pid}"),
        format!("read auxv of {pid}"),
        format!("opened mem of {pid}"),
        format!("listed fd of {pid}"),
        format!("found cwd of {pid}"),
    ] {
        assert!(!has(&refused), "{refused}");
    }
    assert!(has(&format!("read cmdline of {pid}")), "cts is running");
    assert_no_secret(&evidence, "what the module has seen");

    match fs::read(format!("/proc/{pid}/environ")) {
        Ok(environment) => {
            assert!(geteuid().is_root());
            assert_no_secret(&environment, "the environment of cts");
            assert!(String::from_utf8_lossy(&environment).contains(&marker));
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::PermissionDenied),
    }
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    assert_eq!(name, "cts\n", "it keeps its name");

    // All of them still count.
    if Shape::of_this_run() == Shape::Embedded {
        let rows = Postgres::rows_with(&database, "thief").await;
        assert!(rows > 0, "the database of the environment is in use");
    }
    let output = cts.output();
    let withheld = output
        .lines()
        .find(|line| line.contains("are not handed to terraform"));
    let withheld = withheld.unwrap_or_else(|| panic!("{output}"));
    assert_contains(
        &withheld,
        ["CONSUL_HTTP_TOKEN", "CTS_DATABASE_URL", "VAULT_TOKEN"],
    );
    for warning in ["can read credentials", "can read the memory"] {
        assert!(!output.contains(warning), "{output}");
    }
    cts.stop().await;
    assert_no_secret(output.as_bytes(), "the log");
}

#[tokio::test]
async fn a_descriptor_that_cts_has_not_made_ends_it_at_once() {
    let mut site = Site::new();
    site.write("cts.hcl", "log_level = \"INFO\"\n");
    site.set_environment("CTS_ENVIRONMENT_FD", "7");
    site.set_environment("CONSUL_HTTP_TOKEN", CONSUL_TOKEN);
    for service in ["start", "watcher", "scheduler", "worker", "gateway"] {
        let arguments = [service, "-config-file", "cts.hcl"];
        let log = format!("{service}.log");
        let exit = site.run("cts", &arguments, &log).wait().await;
        exit.assert_code(11);
        assert!(
            exit.output.contains("unset it") && exit.output.contains("not the sealed file"),
            "{}",
            exit.output
        );
    }
    let arguments = ["config", "validate", "-config-file", "cts.hcl"];
    let exit = site.run("cts", &arguments, "validate.log").wait().await;
    assert!(!exit.output.contains("unset it"), "{}", exit.output);
}
