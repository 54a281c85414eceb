//! States that are larger than a value of Consul may be.

use std::fmt::Write as _;
use std::fs;

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, Site, task};

/// Keeps a long text, and notes each instance that it makes.
const MODULE: &str = r#"
variable "services" {
  type = any
}

variable "large" {
  type = string
}

resource "terraform_data" "large" {
  input = var.large
}

resource "terraform_data" "made" {
  for_each = var.services

  provisioner "local-exec" {
    command = "echo ${each.value.id} >>'@SITE@/${terraform.workspace}.made'"
  }
}
"#;

/// Tasks with the length of their texts, and the number of values of Consul, 512 KiB each, that their states exceed.
const CASES: [(&str, usize, usize); 2] = [("some", 900_000, 1), ("many", 9_000_000, 17)];

/// Digits of numbers without a pattern, so that the state is long although Terraform compresses it.
fn digits(length: usize) -> String {
    let mut number: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut digits = String::with_capacity(length + 16);
    while digits.len() < length {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        write!(digits, "{number:016x}").unwrap();
    }
    digits
}

#[tokio::test]
async fn large_states_are_stored_in_parts_and_read_again_without_a_lock_left() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    let module = MODULE.replace("@SITE@", site.path().to_str().unwrap());
    site.write("modules/large/main.tf", &module);
    let mut tasks = String::new();
    for (name, length, _) in CASES {
        let large = format!("large = \"{}\"\n", digits(length));
        site.write(&format!("{name}.tfvars"), &large);
        let file = format!("variable_files = [\"{name}.tfvars\"]");
        tasks += &task(name, "./modules/large", &["web"], &file);
    }
    site.configure(&consul.address(), Backend::Consul, &tasks);
    let mut made = String::new();
    for id in ["web-1", "web-2"] {
        consul.register_service("web", id, 1, &[], &[]).await;
        let exit = site.run_cts(free_port(), &["-once"]).wait().await;
        exit.assert_code(0);
        writeln!(made, "{id}").unwrap();
        let keys = consul.get("/v1/kv/consul-terraform-sync?keys").await;
        let keys = keys.as_array().unwrap().iter();
        let keys: Vec<_> = keys.map(|key| key.as_str().unwrap()).collect();
        let mut count = 0;
        for (name, _, exceeded) in CASES {
            let state = format!("consul-terraform-sync/terraform-env:{name}");
            assert!(keys.contains(&&*state), "{keys:?}");
            let part = format!("{state}/tfstate.");
            let found = keys.iter().filter(|key| key.starts_with(&part)).count();
            assert!(found > exceeded, "{name}: {keys:?}");
            count += 1 + found;
            let noted = fs::read_to_string(site.path().join(format!("{name}.made"))).unwrap();
            assert_eq!(noted, made, "{name}");
        }
        assert_eq!(keys.len(), count, "a lock is left: {keys:?}");
    }
}
