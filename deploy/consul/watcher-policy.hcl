# Rights of a watcher: to read the data that conditions and module inputs of the tasks name.
# `cts doctor -role watcher` lists them for a configuration, each by itself.

# Services of conditions and module inputs. Narrow it to `service "web"` or `service_prefix "web-"` where the tasks
# name few. A service that the token may not read looks like a service without instances.
service_prefix "" {
  policy = "read"
}

# Nodes of the instances. An instance on a node that the token may not read is left out.
node_prefix "" {
  policy = "read"
}

# Keys of conditions and module inputs. Replace it by the paths that the tasks name; without such keys, remove it.
key_prefix "cts/" {
  policy = "read"
}
