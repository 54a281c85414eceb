# Rights of a worker whose states are in Consul (backend "consul"). With another backend a worker needs no token,
# unless dynamic values read keys.

# Terraform's states and their locks: `path` of the backend, here the default of an unset `kv_path`.
key_prefix "consul-terraform-sync/terraform" {
  policy = "write"
}

# The lock of a state belongs to a session on the node of the agent. Narrow it to `session "NODE"` where the worker
# always uses the same agent.
session_prefix "" {
  policy = "write"
}

# Keys that dynamic values name ({{ key "cts/token" }}), each by itself:
# key "cts/token" {
#   policy = "read"
# }
