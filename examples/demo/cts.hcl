# One task that keeps a pool of files in step with the instances of the service "web".
# The address of Consul comes from CONSUL_HTTP_ADDR (default: localhost:8500).

log_level   = "INFO"
port        = 8558
working_dir = "sync-tasks"

# Wait until web has been quiet for a second, but never longer than four.
buffer_period {
  min = "1s"
  max = "4s"
}

driver "terraform" {
  # Terraform's own output goes to the log of cts.
  log = true

  backend "consul" {
    gzip = true
  }
}

task {
  name        = "web_pool"
  description = "list the healthy instances of web in files"
  module      = "./module"

  # A person must approve what destroys something: `cts approvals list`.
  approval = "destroy"

  condition "services" {
    names = ["web"]
  }
}
