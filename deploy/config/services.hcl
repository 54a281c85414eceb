# Settings that the four services share: addresses and access control. Tasks are in files of their own.
services {
  watchers   = ["127.0.0.1:8561"]
  schedulers = ["127.0.0.1:8560"]

  # Each service listens on this machine alone. For services on several machines, see deploy/README.md:
  # listen {
  #   watcher   = "0.0.0.0:8561"
  #   scheduler = "0.0.0.0:8560"
  # }

  # The certificate of each service is in a directory of its own: its `services.tls` is in /etc/cts.d/<service>/tls.hcl.
  # The API has the certificate of the gateway: gateway.hcl.
}

security {
  # Clients of the API need a token or a certificate with a role.
  require_auth = true

  # A service may call only what its role needs: the worker's certificate speaks for no gateway. And it takes the
  # place of no scheduler.
  service_roles = true
  server_roles  = true
  domain        = "cts.internal"

  # Modules of tasks that the API makes.
  module_sources = ["/etc/cts.d/modules/"]
}
