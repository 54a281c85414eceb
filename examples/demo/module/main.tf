# Writes one line per service instance to pool.txt in the task's directory. Needs no provider:
# terraform_data is built into Terraform.

terraform {
  required_version = ">= 1.4.0"
}

# Any subset of what cts passes for an instance can be declared; the rest is dropped.
variable "services" {
  description = "The instances that Consul reports as healthy, by instance."
  type = map(
    object({
      id      = string
      name    = string
      address = string
      port    = number
      tags    = list(string)
      meta    = map(string)
    })
  )
}

locals {
  # IPv6 addresses need brackets in front of a port.
  hosts = {
    for key, service in var.services :
    key => length(regexall(":", service.address)) > 0 ? "[${service.address}]" : service.address
  }

  # What comes from Consul is only ever text here. A control character, a line break above all, could
  # still forge a line of the file, so each becomes a question mark.
  lines = [
    for key in sort(keys(var.services)) : replace(
      "${local.hosts[key]}:${var.services[key].port}  ${var.services[key].id}  [${join(", ", var.services[key].tags)}]",
      "/[[:cntrl:]]/", "?",
    )
  ]
  pool = join("", [for line in local.lines : "${line}\n"])
}

resource "terraform_data" "pool" {
  triggers_replace = [local.pool]

  provisioner "local-exec" {
    working_dir = path.root

    # The text travels in the environment, so nothing in it is ever read by the shell. The rename lets
    # readers see the old file or the new one, never half of it.
    environment = { POOL = local.pool }
    command     = "printf '%s' \"$POOL\" > pool.txt.new && mv pool.txt.new pool.txt"
  }
}
