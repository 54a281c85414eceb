# The smallest module: declares the variable that cts always passes, and shows it in the plan.

terraform {
  required_version = ">= 1.4.0"
}

variable "services" {
  description = "The instances that Consul reports as healthy, by instance."
  type        = map(object({ name = string, address = string, port = number }))
}

resource "terraform_data" "hello" {
  input = [for key in sort(keys(var.services)) : "hello ${var.services[key].address}:${var.services[key].port}"]
}
