# Rights of a gateway, or of `cts start`, to register its API in the catalog (`consul.service_registration`). The name is
# `service_name` of that block, here its default.
service "consul-terraform-sync" {
  policy = "write"
}
