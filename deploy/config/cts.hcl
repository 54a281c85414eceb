# A sample configuration. Everything but the task is optional; what is not set keeps the default that
# is named beside it. The language is HCL 1: no expressions, no functions, ${...} is plain text.

# TRACE, DEBUG, INFO or WARN. Default: INFO.
log_level = "INFO"

# Port of the REST API, on all interfaces. Default: 8558.
port = 8558

# Parent of the tasks' directories, relative to the directory in which cts was started.
# Default: sync-tasks.
working_dir = "/var/lib/cts/sync-tasks"

# Directories in which local modules may be, beside the current directory, those of the configuration files, and those that
# hold the modules of the tasks below. Default: none.
# module_roots = ["/srv/terraform"]

# A task runs when what it watches has been quiet for `min`, and at the latest `max` after the first
# change. Default: 5s and 20s.
buffer_period {
  min = "5s"
  max = "20s"
}

# The brake of the fleet: if all services together lose more than this part of their instances within this time, no more
# of them are taken away until they are back, or until an operator runs `cts task release -all`. Default: off.
fleet_max_shrink {
  share    = "20%"
  within   = "10m"
  at_least = 20
}

# HTTPS for the API, because tokens travel to it. `cts certs` makes the files: deploy/README.md has the commands. Beside
# four services this block is for the gateway alone, as in gateway.hcl. Default: HTTP.
tls {
  cert = "/etc/cts.d/tls/cert.pem"
  key  = "/etc/cts.d/tls/key.pem"
}

# Each request to the API needs a token (`cts token create`) or a certificate with a role. Tasks that the API makes may
# use modules of these places only. Default: off, and any module.
security {
  require_auth   = true
  module_sources = ["/etc/cts.d/modules/"]
}

# The page for people, at /ui/ of the API. Default: on, without a name, and slate.
# page {
#   name  = "production"
#   color = "red"
# }

consul {
  # host:port, http://, https:// or unix://. Default: CONSUL_HTTP_ADDR, then localhost:8500.
  address = "localhost:8500"

  # Better kept out of this file: CONSUL_HTTP_TOKEN in the environment file of the service.
  # It needs: service and node read for what is watched, key write and session write for the state.
  # token = "..."
}

driver "terraform" {
  # The version to use, as x.y.z. It is installed into working_dir unless it is on the PATH. Default: what is on the
  # PATH, else the newest that cts is tested with.
  version = "1.14.3"

  # Directory of the executable `terraform`, which is then the only place; where it is missing it is installed there, so
  # the service must be able to write there, as below /var/lib/cts.
  # path = "/var/lib/cts/bin"

  # A mirror of the vendor's release site.
  # releases_url = "https://mirror.example.net/releases"

  # Terraform's output in the log of cts. Default: false.
  log = true

  # Where Terraform keeps its state. Default: Consul's KV store, with the address and the token from above.
  backend "consul" {
    gzip = true
  }

  # Source and version of the providers, as in Terraform. Only what a task lists is handed to it.
  required_providers {
    lbx = {
      source  = "acme/lbx"
      version = "~> 2.4"
    }
  }
}

# What Terraform gets of the environment of cts. Default: everything but the credentials of cts itself. Name what
# your modules and providers need.
worker {
  environment = ["HOME", "LANG", "PATH", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_*", "TF_*", "LBX_*"]
}

# Arguments of a provider. Secrets are better given by `task_env`: they then reach Terraform's
# environment and no generated file.
terraform_provider "lbx" {
  host  = "lb.example.com"
  task_env { "LBX_REGION" = "east" }
}

task {
  # A letter or underscore, then letters, digits, underscores, dashes. Names the Terraform workspace too.
  name        = "edge_pool"
  description = "keep the edge pool in step with web and api"

  # A directory or any module source that Terraform knows.
  module = "/etc/cts.d/modules/edge_pool"

  # Providers by name, or name.alias.
  providers = ["lbx"]

  # Values for the module's other variables, in Terraform's .tfvars syntax; later files win.
  # variable_files = ["/etc/cts.d/edge_pool.tfvars"]

  condition "services" {
    names      = ["web", "api"]
    datacenter = "dc1"

    # An expression of Consul's filter language, in addition to "all checks pass".
    filter = "\"edge\" in Service.Tags"

    # Handed to the module with every instance.
    cts_user_defined_meta {
      zone = "dmz"
    }

    # Default: true. With false a change still starts a run, but the module gets no services.
    use_as_module_input = true
  }

  # Default: the one at the top.
  buffer_period {
    min = "2s"
    max = "10s"
  }
}
