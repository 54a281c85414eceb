service {
  name       = "api"
  id         = "api-west"
  datacenter = "west"
}

task {
  name     = "old_style"
  source   = "./m"
  services = ["api-west", "web"]
}

task {
  name     = "old_inputs"
  source   = "./m"
  services = ["web"]
  condition "consul-kv" {
    path                = "x"
    source_includes_var = false
  }
}
