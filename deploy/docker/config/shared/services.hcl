# Settings that all services in containers share. Other files of this directory are read too, in the order of their
# names. Those of ../scheduler and ../gateway are for that service alone.
log_level = "INFO"

services {
  watchers   = ["watcher:8561"]
  schedulers = ["scheduler:8560"]

  # The certificate of each service is in its own container only.
  tls {
    ca_cert = "/tls/ca.pem"
    cert    = "/tls/cert.pem"
    key     = "/tls/key.pem"
  }
}

security {
  require_auth  = true
  service_roles = true
  server_roles  = true
  domain        = "cts.internal"
}

# Metrics for Prometheus, and health checks over HTTP. The port is published nowhere.
telemetry {
  listen = "0.0.0.0:9464"
}

consul {
  address = "consul:8500"

  service_registration {
    address = "gateway"

    default_check {
      address = "https://gateway:8558"
    }
  }
}

worker {
  slots       = 2
  environment = ["HOME", "LANG", "PATH", "TMPDIR", "CHECKPOINT_DISABLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "TF_*"]
}

driver "terraform" {
  # A container that dies takes its Terraform with it, which leaves the lock of its state behind.
  release_lost_locks = true
}
