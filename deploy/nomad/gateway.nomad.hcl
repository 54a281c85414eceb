# The gateway of cts, its REST API: nomad job run deploy/nomad/gateway.nomad.hcl
#
# deploy/README.md#nomad has the preparations and the order of the jobs.
variable "datacenters" {
  type    = list(string)
  default = ["dc1"]
}

variable "driver" {
  description = "exec, or raw_exec on machines without isolation."
  type        = string
  default     = "exec"
}

variable "executable" {
  description = "The executable on the clients."
  type        = string
  default     = "/usr/local/bin/cts"
}

variable "vault" {
  description = "Whether certificates come from Vault; else they are files at var.secrets."
  type        = bool
  default     = true
}

variable "secrets" {
  description = "Without Vault: directory on the clients with ca.pem, cert.pem and key.pem."
  type        = string
  default     = "/etc/cts.d/gateway"
}

variable "count" {
  description = "Number of instances, each on another client."
  type        = number
  default     = 2
}

variable "revision" {
  description = "Changes with each update, so that Nomad replaces the instances."
  type        = string
  default     = "1"
}

variable "schedulers" {
  description = "Address of the schedulers; a name stands for all of its addresses."
  type        = string
  default     = "cts-scheduler.service.consul:8560"
}

variable "watchers" {
  type    = string
  default = "cts-watcher.service.consul:8561"
}

variable "consul" {
  description = "The agent of Consul on each client."
  type        = string
  default     = "127.0.0.1:8500"
}

locals {
  # Template of the directory with the secrets: that of the task, or the one on the client.
  secrets = var.vault ? "{{ env \"NOMAD_SECRETS_DIR\" }}" : var.secrets
  # The authority of the certificate, for the check. Nomad replaces the variable in the arguments.
  ca = var.vault ? "$${NOMAD_SECRETS_DIR}/ca.pem" : "${var.secrets}/ca.pem"
}

job "cts-gateway" {
  datacenters = var.datacenters
  type        = "service"

  meta {
    revision = var.revision
  }

  # One instance after the other, and back to the version before if it does not become healthy.
  update {
    max_parallel      = 1
    health_check      = "checks"
    min_healthy_time  = "5s"
    healthy_deadline  = "2m"
    progress_deadline = "15m"
    auto_revert       = true
  }

  group "gateway" {
    count = var.count

    network {
      port "grpc" {}
      port "metrics" {}
      port "http" { static = 8558 }
    }

    service {
      name = "cts-gateway"
      port = "http"

      # The check is a command, because an HTTPS check of Consul knows the authority of the certificate only if the agent
      # does. Consul takes exit code 1 for a warning, and 2 for a failure.
      check {
        type     = "script"
        task     = "gateway"
        command  = "/bin/sh"
        args     = ["-c", "${var.executable} health -ca-cert ${local.ca} https://127.0.0.1:${NOMAD_PORT_http} || exit 2"]
        interval = "10s"
        timeout  = "6s"
      }
    }

    # For Prometheus, which finds the targets in Consul.
    service {
      name = "cts-metrics"
      port = "metrics"
      tags = ["gateway"]
    }

    task "gateway" {
      driver       = var.driver
      kill_signal  = "SIGTERM"
      kill_timeout = "30s"

      config {
        command = var.executable
        args = [
          "gateway",
          "-config-dir", "${NOMAD_TASK_DIR}",
          "-grpc-address", "0.0.0.0:${NOMAD_PORT_grpc}",
        ]
      }

      template {
        destination = "local/cts.hcl"
        change_mode = "restart"

        data = <<-TEMPLATE
          port = {{ env "NOMAD_PORT_http" }}

          tls {
            cert = "${local.secrets}/${var.vault ? "pair" : "cert"}.pem"
            key  = "${local.secrets}/${var.vault ? "pair" : "key"}.pem"
          }

          consul {
            address = "${var.consul}"

            service_registration {
              enabled = false
            }
          }

          telemetry {
            listen = "0.0.0.0:{{ env "NOMAD_PORT_metrics" }}"
          }

          services {
            schedulers = ["${var.schedulers}"]
            watchers   = ["${var.watchers}"]

            tls {
              ca_cert = "${local.secrets}/ca.pem"
              cert    = "${local.secrets}/${var.vault ? "pair" : "cert"}.pem"
              key     = "${local.secrets}/${var.vault ? "pair" : "key"}.pem"
            }
          }

          security {
            require_auth  = true
            service_roles = true
            server_roles  = true
            domain        = "cts.internal"
          }
        TEMPLATE
      }

      dynamic "vault" {
        for_each = var.vault ? [1] : []

        content {
          policies    = ["cts-gateway"]
          change_mode = "noop"
        }
      }

      # Vault makes a key and a certificate with the name of the role (docs/access.md#services), and renews them. cts reads
      # renewed files by itself.
      dynamic "template" {
        for_each = var.vault ? [1] : []

        content {
          destination = "secrets/pair.pem"
          perms       = "400"
          change_mode = "noop"

          data = <<-TEMPLATE
            {{ with pkiCert "pki/issue/cts-gateway" "common_name=gateway.cts.internal" "alt_names=localhost,cts-gateway.service.consul" "ip_sans=127.0.0.1" -}}
            {{ .Cert }}
            {{ .Key }}
            {{- end }}
          TEMPLATE
        }
      }

      dynamic "template" {
        for_each = var.vault ? [1] : []

        content {
          destination = "secrets/ca.pem"
          change_mode = "noop"
          data        = "{{ with secret \"pki/cert/ca\" }}{{ .Data.certificate }}{{ end }}"
        }
      }

      resources {
        cpu    = 200
        memory = 128
      }
    }
  }
}
