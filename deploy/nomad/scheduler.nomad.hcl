# The scheduler of cts, which keeps its state in Postgres: nomad job run deploy/nomad/scheduler.nomad.hcl
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
  description = "Whether certificates and the URL of the database come from Vault; else they are files at var.secrets."
  type        = bool
  default     = true
}

variable "secrets" {
  description = "Without Vault: directory on the clients with ca.pem, cert.pem, key.pem and database_url."
  type        = string
  default     = "/etc/cts.d/scheduler"
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

variable "tasks" {
  description = "Blocks `task` of the configuration."
  type        = string
  default     = ""
}

locals {
  # Template of the directory with the secrets: that of the task, or the one on the client.
  secrets = var.vault ? "{{ env \"NOMAD_SECRETS_DIR\" }}" : var.secrets
}

job "cts-scheduler" {
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

  group "scheduler" {
    count = var.count

    network {
      port "grpc" { static = 8560 }
      port "metrics" {}
    }

    service {
      name = "cts-scheduler"
      port = "grpc"

      # The certificate of the service is for its peers, so the check is a command and no gRPC check of Consul. Consul
      # takes exit code 1 for a warning, and 2 for a failure.
      check {
        type     = "script"
        task     = "scheduler"
        command  = "/bin/sh"
        args     = ["-c", "${var.executable} health -config-dir ${NOMAD_TASK_DIR} 127.0.0.1:${NOMAD_PORT_grpc} || exit 2"]
        interval = "10s"
        timeout  = "6s"
      }
    }

    # For Prometheus, which finds the targets in Consul.
    service {
      name = "cts-metrics"
      port = "metrics"
      tags = ["scheduler"]
    }

    # Brings the schema of the database up to date before the scheduler starts.
    task "migrate" {
      driver = var.driver

      lifecycle {
        hook = "prestart"
      }

      config {
        command = var.executable
        args    = ["migrate", "-config-dir", "${NOMAD_TASK_DIR}"]
      }

      template {
        destination = "local/cts.hcl"

        data = <<-TEMPLATE
          database {
            url_file = "${local.secrets}/database_url"
          }
        TEMPLATE
      }

      dynamic "vault" {
        for_each = var.vault ? [1] : []

        content {
          policies    = ["cts-scheduler"]
          change_mode = "noop"
        }
      }

      dynamic "template" {
        for_each = var.vault ? [1] : []

        content {
          destination = "secrets/database_url"
          perms       = "400"
          data        = "{{ with secret \"kv/data/cts/scheduler\" }}{{ .Data.data.database_url }}{{ end }}"
        }
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }

    task "scheduler" {
      driver       = var.driver
      kill_signal  = "SIGTERM"
      kill_timeout = "30s"

      config {
        command = var.executable
        args = [
          "scheduler",
          "-config-dir", "${NOMAD_TASK_DIR}",
          "-grpc-address", "0.0.0.0:${NOMAD_PORT_grpc}",
        ]
      }

      template {
        destination = "local/cts.hcl"
        change_mode = "restart"

        data = <<-TEMPLATE
          database {
            url_file = "${local.secrets}/database_url"
          }

          high_availability {
            cluster {
              name = "nomad"
              storage "postgres" {
                session_ttl = "15s"
              }
            }
          }

          # The brake of the fleet.
          fleet_max_shrink {
            share    = "20%"
            within   = "10m"
            at_least = 20
          }

          ${var.tasks}

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
          policies    = ["cts-scheduler"]
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
            {{ with pkiCert "pki/issue/cts-scheduler" "common_name=scheduler.cts.internal" "alt_names=localhost,cts-scheduler.service.consul" "ip_sans=127.0.0.1" -}}
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

      dynamic "template" {
        for_each = var.vault ? [1] : []

        content {
          destination = "secrets/database_url"
          perms       = "400"
          change_mode = "restart"
          data        = "{{ with secret \"kv/data/cts/scheduler\" }}{{ .Data.data.database_url }}{{ end }}"
        }
      }

      resources {
        cpu    = 200
        memory = 128
      }
    }
  }
}
