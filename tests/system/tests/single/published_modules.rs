//! Modules as people publish them for Consul-Terraform-Sync, with configurations as they write them: one pass over
//! tasks with the real Consul and Terraform. The expressions are those over services; built-in resources stand for
//! those of a provider.

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{LOCAL_BACKEND, Site};
use serde_json::json;

/// Two names of one provider, with a comma after the first.
const REQUIRED: &str = r#"
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" },
    builtin = { source = "terraform.io/builtin/terraform" }
  }
"#;

/// The type of services before their kind was added.
const TYPED: &str = r#"
variable "services" {
  type = map(object({
    id                    = string
    name                  = string
    address               = string
    port                  = number
    meta                  = map(string)
    tags                  = list(string)
    namespace             = string
    status                = string
    node                  = string
    node_id               = string
    node_address          = string
    node_datacenter       = string
    node_tagged_addresses = map(string)
    node_meta             = map(string)
    cts_user_defined_meta = map(string)
  }))
}
"#;

/// Addresses of each service as a group of a firewall.
const GROUPS: &str = r#"
terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}

variable "dag_prefix" {
  type    = string
  default = ""
}

locals {
  groups = { for id, s in var.services : s.name => [s.address == "" ? s.node_address : s.address]... }
}

resource "terraform_data" "group" {
  for_each = local.groups
  input    = flatten(each.value)

  lifecycle {
    create_before_destroy = true
  }
}

resource "terraform_data" "recorded" {
  input = { for name, ips in local.groups : "${var.dag_prefix}${name}" => sort(flatten(ips)) }
}
"#;

/// A virtual server for each service whose instances have its address in their meta data.
const SERVERS: &str = r#"
locals {
  ids = transpose({ for id, s in var.services : id => [s.name] if lookup(s.meta, "VSIP", "") != "" })
}

resource "terraform_data" "recorded" {
  input = {
    for name, ids in local.ids : name => {
      ip      = one(distinct([for id in ids : var.services[id].meta.VSIP]))
      port    = tonumber(one(distinct([for id in ids : var.services[id].meta.VSPORT])))
      members = sort([for id in ids : var.services[id].id])
    }
  }
}
"#;

/// Variables without types, with names that arguments of providers have, too.
const TENANT: &str = r#"
variable "services" {}
variable "tenant" {}
variable "virtualPort" {}
variable "address" {}
variable "port" {}
variable "username" {}
variable "password" {}

resource "terraform_data" "recorded" {
  input = [var.tenant, var.virtualPort, var.address, var.port, var.username, var.password]
}
"#;

/// Pools from meta data that the configuration adds.
const POOLS: &str = r#"
variable "services" {
  type = any
}

variable "partition" {
  type = string
}

resource "terraform_data" "recorded" {
  input = {
    for s in values(var.services) : s.id => {
      meta      = s.cts_user_defined_meta
      address   = s.address
      port      = s.port
      partition = var.partition
    }
  }
}
"#;

/// Objects merged into a map.
const ENDPOINTS: &str = r#"
variable "services" {}
variable "tenant" {}
variable "profile" {}

resource "terraform_data" "recorded" {
  input = merge([
    for s in values(var.services) : { (s.id) = { tenant = var.tenant, profile = var.profile, port = s.port } }
    if s.status == "passing"
  ]...)
}
"#;

/// Rules from tags and from meta data that name a second service, with a condition for a variable.
const RULES: &str = r#"
variable "default_action" {
  type = string
  validation {
    condition     = contains(["ALLOW", "DROP"], var.default_action)
    error_message = "The action is \"ALLOW\" or \"DROP\"."
  }
}

locals {
  by_name = { for s in values(var.services) : s.name => s... }
}

resource "terraform_data" "recorded" {
  input = {
    for name, all in local.by_name : name => {
      action   = var.default_action
      template = one(distinct([for s in all : lookup(s.meta, "TMPL", null)]))
      quotes   = one(distinct([for s in all : lookup(s.meta, "quotes", null)]))
      tags     = { for i, tag in distinct(flatten([for s in all : s.tags])) : tostring(i) => tag }
    }
  }
}
"#;

/// Old and new names, commas at ends of lines, a text in the place of a list, and a block within a comment.
const CONFIGURATION: &str = r#"
/*
terraform_provider "zpa" {
  a = "{{ with secret \"k/z\" }}{{ . }}{{ end }}"
}
*/
vault {}

terraform_provider "terraform" {
  alias = "fw1"
}

terraform_provider "builtin" {}

service {
  name       = "rest"
  filter     = "\"dev\" in Service.Tags"
  datacenter = "dc1"
  cts_user_defined_meta = {
    vs-name = "vs-a",
    vs-port = 80,
    vs-proto = "tcp"
    vs-ip = "198.51.100.7"
    on = true
  }
}

service {
  name = "db"
  cts_user_defined_meta = {
    vport = 5432,
    vip = "2001:db8::7"
  }
}

task {
  name           = "groups"
  source         = "./modules/groups"
  providers      = ["terraform.fw1"]
  services       = ["web", "api"]
  variable_files = ["@SITE@/groups.tfvars"]
}

task {
  name     = "app-services"
  enabled = true,
  source   = "./modules/servers"
  providers = ["builtin"]
  services = ["web", "api"]
  variable_files = []
}

task {
  name = "tenant-a"
  source = "./modules/tenant"
  services = ["web"]
  variable_files = ["tenant-a.tfvars"]
}

task {
  name = "tenant-b"
  source = "./modules/tenant"
  services = ["api"]
  variable_files = ["tenant-b.tfvars"]
}

task {
  name           = "pools"
  module         = "./modules/x/../pools/"
  services       = ["rest", "db"]
  variable_files = "pools.tfvars"
}

task {
  name   = "endpoints"
  module = "./modules/endpoints"
  variable_files = ["nia/input.tf", "comments.tfvars"]
  condition "services" {
    names = ["web", "db"]
  }
}

task {
  name   = "rules"
  module = "./modules/rules"
  variable_files = ["rules.tfvars"]
  condition "services" {
    regexp = "^(web|db)$"
  }
}
"#;

const TENANT_A: &str = "tenant=\"tenant_A\"\nvirtualPort=8080\naddress=\"192.0.2.8\"\nusername=\"admin\"\n\
                        password=\"pw1\"\nport=8443";
const TENANT_B: &str = "tenant=\"tenant_B\"\nvirtualPort=\"8081\"\naddress=\"192.0.2.9\"\nusername=\"other\"\n\
                        password=\"pw2\"\nport=443\n";

async fn register(consul: &ConsulAgent) {
    let published = json!({"VSIP": "198.51.100.1", "VSPORT": "8443", "TMPL": "db"});
    let services = [
        json!({"Name": "web", "ID": "web-1", "Address": "10.0.0.1", "Port": 80,
            "Tags": ["blue", "v1"], "Meta": published}),
        json!({"Name": "web", "ID": "web-2", "Port": 81, "Tags": ["v1"], "Meta": published}),
        json!({"Name": "api", "ID": "api-1", "Address": "10.0.0.3", "Port": 82}),
        json!({"Name": "db", "ID": "db-1", "Address": "2001:db8::1", "Tags": ["pri mary", "x,y"],
            "Meta": {"quotes": "say \"x\""}}),
        json!({"Name": "rest", "ID": "rest-1", "Address": "10.0.0.5", "Port": 84, "Tags": ["dev"]}),
        json!({"Name": "rest", "ID": "rest-2", "Address": "10.0.0.6", "Port": 85, "Tags": ["prod"]}),
    ];
    for service in services {
        consul.register(service).await;
    }
}

fn site(consul: &str) -> Site {
    let site = Site::new();
    let modules = [
        ("groups", format!("{TYPED}{GROUPS}")),
        ("servers", format!("{TYPED}{SERVERS}")),
        ("tenant", TENANT.to_owned()),
        ("pools", POOLS.to_owned()),
        ("endpoints", ENDPOINTS.to_owned()),
        ("rules", format!("{TYPED}{RULES}")),
    ];
    for (name, text) in modules {
        site.write(&format!("modules/{name}/main.tf"), &text);
    }
    site.write("modules/x/README.md", "");
    site.write("groups.tfvars", "dag_prefix = \"cts-grp-\"\n");
    site.write("tenant-a.tfvars", TENANT_A);
    site.write("tenant-b.tfvars", TENANT_B);
    site.write("pools.tfvars", "partition = \"shared\"\n");
    site.write(
        "nia/input.tf",
        "tenant = \"one\"\nprofile = { name = \"p\" }\n",
    );
    site.write("comments.tfvars", "# nothing is set\n// nor here");
    site.write("rules.tfvars", "default_action = \"DROP\"\n");
    let tasks = CONFIGURATION.replace("@SITE@", site.path().to_str().unwrap());
    site.configure_driver(consul, &format!("{LOCAL_BACKEND}{REQUIRED}"), &tasks);
    site
}

#[tokio::test]
async fn each_task_gets_its_values_and_a_refused_one_the_words_of_its_module() {
    let consul = ConsulAgent::start().await;
    register(&consul).await;
    let site = site(&consul.address());
    let exit = site.run_cts(free_port(), &["-once"]).wait().await;
    exit.assert_code(0);
    let expected = [
        (
            "groups",
            json!({"cts-grp-web": ["10.0.0.1", "127.0.0.1"], "cts-grp-api": ["10.0.0.3"]}),
        ),
        (
            "app-services",
            json!({"web": {"ip": "198.51.100.1", "port": 8443, "members": ["web-1", "web-2"]}}),
        ),
        (
            "tenant-a",
            json!(["tenant_A", 8080, "192.0.2.8", 8443, "admin", "pw1"]),
        ),
        (
            "tenant-b",
            json!(["tenant_B", "8081", "192.0.2.9", 443, "other", "pw2"]),
        ),
        (
            "pools",
            json!({
                "rest-1": {
                    "meta": {"vs-name": "vs-a", "vs-port": "80", "vs-proto": "tcp", "vs-ip": "198.51.100.7", "on": "1"},
                    "address": "10.0.0.5", "port": 84, "partition": "shared",
                },
                "db-1": {
                    "meta": {"vport": "5432", "vip": "2001:db8::7"},
                    "address": "2001:db8::1", "port": 0, "partition": "shared",
                },
            }),
        ),
        (
            "endpoints",
            json!({
                "web-1": {"tenant": "one", "profile": {"name": "p"}, "port": 80},
                "web-2": {"tenant": "one", "profile": {"name": "p"}, "port": 81},
                "db-1": {"tenant": "one", "profile": {"name": "p"}, "port": 0},
            }),
        ),
        (
            "rules",
            json!({
                "web": {"action": "DROP", "template": "db", "quotes": null, "tags": {"0": "blue", "1": "v1"}},
                "db": {"action": "DROP", "template": null, "quotes": "say \"x\"", "tags": {"0": "pri mary", "1": "x,y"}},
            }),
        ),
    ];
    for (task, expected) in expected {
        assert_eq!(site.recorded(task).unwrap(), expected, "{task}");
    }
    for (task, provider) in [("groups", "terraform"), ("app-services", "builtin")] {
        let root = std::fs::read_to_string(site.work().join(task).join("main.tf")).unwrap();
        let required =
            format!("    {provider} = {{\n      source = \"terraform.io/builtin/terraform\"\n");
        assert!(root.contains(&required), "{root}");
    }

    site.write("rules.tfvars", "default_action = \"REJECT\"\n");
    let exit = site.run_cts(free_port(), &["-once"]).wait().await;
    exit.assert_code(11).says([
        "1 of 7 tasks failed: rules: ",
        "The action is \"ALLOW\" or \"DROP\".",
    ]);
}
