# The smallest useful file: everything else has a default. See deploy/config/cts.hcl for more.

task {
  name   = "hello"
  module = "./modules/hello"
  condition "services" { names = ["web"] }
}
