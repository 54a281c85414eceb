# Writes a file with one line for each service instance to pool/ in the task's directory. Needs no provider:
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
  # still forge a line of a file, so each becomes a question mark.
  members = {
    for key, service in var.services : key => {
      # A name from Consul becomes no path.
      file = sha1(key)
      line = replace(
        "${local.hosts[key]}:${service.port}  ${service.id}  [${join(", ", service.tags)}]",
        "/[[:cntrl:]]/", "?",
      )
    }
  }
}

# An object for each instance, so that more instances only create, and fewer instances destroy.
resource "terraform_data" "member" {
  for_each         = local.members
  input            = each.value.file
  triggers_replace = [each.value]

  provisioner "local-exec" {
    # The text travels in the environment, so nothing in it is ever read by the shell. The rename lets
    # readers see the old file or the new one, never half of it.
    environment = { FILE = each.value.file, LINE = each.value.line }
    command     = "mkdir -p pool && printf '%s\\n' \"$LINE\" > \".$FILE.new\" && mv \".$FILE.new\" \"pool/$FILE\""
  }

  provisioner "local-exec" {
    when        = destroy
    environment = { FILE = self.input }
    command     = "rm -f \"pool/$FILE\""
  }
}
