# Keeps the addresses of the instances in Terraform's state, and needs no provider.

terraform {
  required_version = ">= 1.4.0"
}

variable "services" {
  description = "The instances that Consul reports as healthy, by instance."
  type        = map(object({ name = string, address = string, port = number }))
}

resource "terraform_data" "pool" {
  input = [for key in sort(keys(var.services)) : "${var.services[key].address}:${var.services[key].port}"]
}
