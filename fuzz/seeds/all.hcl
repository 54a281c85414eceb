log_level = "INFO"
port = 8558
id = "cts"
working_dir = "w"
syslog { enabled = true facility = "LOCAL1" name = "cts" }
buffer_period { enabled = true min = "5s" max = "20s" }
tls { enabled = false cert = "c.pem" key = "k.pem" verify_incoming = true ca_cert = "ca.pem" }
consul {
  address = "localhost:8500"
  token = "secret"
  auth { enabled = true username = "u" password = "p" }
  tls { enabled = true verify = false server_name = "s" }
  transport { dial_timeout = "3s" max_idle_conns_per_host = 4 }
  service_registration { enabled = true service_name = "cts" default_check { enabled = true address = "http://a" } }
}
vault { address = "http://v" token = "t" renew_token = true tls { verify = true } }
driver "terraform" {
  log = true
  persist_log = false
  path = "/bin"
  version = "1.3.0"
  backend "consul" { gzip = true scheme = "http" }
  required_providers { p = { source = "a/p", version = "~> 1.0" } }
}
terraform_provider "p" { alias = "x" host = "h" token = "{{ key \"a/b\" }}" list = [["y"], {}] auto_commit = true }
task {
  name = "a"
  description = <<-EOF
    two
    lines
    EOF
  enabled = true
  module = "./m"
  version = "1.0.0"
  providers = ["p.x"]
  variable_files = ["v.tfvars"]
  variables = { n = "[1, 2]" }
  condition "services" { regexp = "^web.*" use_as_module_input = true cts_user_defined_meta { k = "v" } }
  module_input "consul-kv" { path = "k" recurse = true datacenter = "dc1" namespace = "n" }
  buffer_period { min = "1s" }
  approval = "always"
  approval_ignore = ["module.edge.fw_rule.r[0].tags"]
}
task {
  name = "b"
  source = "a/b/c"
  services = ["web"]
  condition "schedule" { cron = "*/10 * * * * Mon-Fri" }
  source_input "services" { names = ["api"] filter = "x == \"y\"" }
}
task { name = "c" module = "m/n/o" condition "intentions" { source_services { names = ["a"] } destination_services { regexp = "b" } } }
service { name = "web" id = "w" datacenter = "dc1" cts_user_defined_meta { a = "b" } }
approval = "destroy"
approval_expires = "12h"
page { listen = "[::1]:8559" path_prefix = "/a/b/" url = "https://cts.example" color = "red" session = "1h" }
fleet_max_shrink { share = "20%" within = "10m" at_least = 20 }
