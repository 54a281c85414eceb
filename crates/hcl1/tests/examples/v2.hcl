log_level   = "DEBUG"
port        = 9558
id          = "cts-lab"
working_dir = "/var/lib/cts/tasks"

syslog { facility = "local3" }

buffer_period {
  min = "10s"
  max = "60s"
}

consul {
  address = "consul.lab.example:8501"
  token   = "00000000-aaaa-bbbb-cccc-000000000000"
  kv_path = "lab/cts"
  auth { username = "svc" password = "pw" }
  tls {
    ca_cert = "/etc/cts/consul-ca.pem"
    verify  = true
  }
  transport { max_idle_conns_per_host = 250 }
  service_registration {
    service_name = "cts-lab"
    address      = "10.1.1.7"
    default_check { address = "http://10.1.1.7:9558" }
  }
}

vault {
  address   = "https://vault.lab.example:8200"
  namespace = "net"
  tls { ca_cert = "/etc/cts/vault-ca.pem" }
}

driver "terraform" {
  version = "1.9.8"
  path    = "/opt/cts/bin"
  backend "consul" { gzip = false }
  required_providers {
    fw  = { source = "acme/fw", version = ">= 2.1.0" }
    dns = "3.4.0"
  }
}

terraform_provider "fw" {
  alias = "north"
  host  = "{{ env \"FW_NORTH\" }}"
  token = "{{ with secret \"kv/data/fw\" }}{{ .Data.data.north }}{{ end }}"
  task_env { "FW_AUDIT" = "{{ key \"cts/fw/audit\" }}" }
}

terraform_provider "fw" {
  alias = "south"
  host  = "fw-south.lab.example"
}

terraform_provider "dns" { }

task {
  name        = "allow_edge"
  description = "open edge services"
  module      = "acme/allow/fw"
  version     = "1.2.0"
  providers   = ["fw.north", "dns"]
  condition "services" {
    regexp     = "^edge-"
    datacenter = "lab"
    filter     = "\"public\" in Service.Tags"
    cts_user_defined_meta { zone = "dmz" }
  }
  module_input "consul-kv" {
    path    = "cts/rules"
    recurse = true
  }
  buffer_period { min = "2s" }
}

task {
  name      = "registry_report"
  module    = "./modules/report"
  providers = ["fw.south"]
  enabled   = false
  condition "catalog-services" {
    regexp              = ".*"
    use_as_module_input = false
    node_meta { rack = "r7" }
  }
  module_input "services" { names = ["db", "cache"] }
}

task {
  name   = "nightly"
  module = "./modules/report"
  condition "schedule" { cron = "30 2 * * Mon-Fri" }
  module_input "services" { regexp = "" }
}
