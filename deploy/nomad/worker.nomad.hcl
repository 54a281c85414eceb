# The workers of cts: nomad job run deploy/nomad/worker.nomad.hcl
#
# deploy/README.md#nomad has the preparations and the order of the jobs. Terraform or OpenTofu must be on the PATH of the
# clients; otherwise cts installs it.
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
  default     = "/etc/cts.d/worker"
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

variable "count" {
  description = "Number of workers at first."
  type        = number
  default     = 2
}

variable "consul" {
  description = "The agent of Consul on each client."
  type        = string
  default     = "127.0.0.1:8500"
}

variable "settings" {
  description = "Blocks of the configuration for the workers alone: driver, terraform_provider, vault."
  type        = string
  default     = ""
}

variable "environment" {
  description = "Variables of the environment that are no secrets, such as CONSUL_HTTP_TOKEN_FILE."
  type        = map(string)
  default     = {}
}

variable "vault_environment" {
  description = "Whether the members of the secret kv/cts/worker of Vault are variables of the environment: CONSUL_HTTP_TOKEN, and credentials of providers."
  type        = bool
  default     = false
}

locals {
  # Template of the directory with the secrets: that of the task, or the one on the client.
  secrets = var.vault ? "{{ env \"NOMAD_SECRETS_DIR\" }}" : var.secrets
}

job "cts-worker" {
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

  group "worker" {
    count = var.count

    # The Nomad Autoscaler adds and removes workers by the length of the queue. A removed worker drains.
    scaling {
      enabled = true
      min     = 1
      max     = 10

      policy {
        cooldown            = "1m"
        evaluation_interval = "15s"

        check "queue" {
          source = "prometheus"
          query  = "max(cts_queue_runs)"

          strategy "target-value" {
            # Runs per worker: its slots.
            target = 4
          }
        }
      }
    }

    ephemeral_disk {
      # The working directory moves to the next version of the job on the same client.
      sticky = true
      size   = 2000
    }

    network {
      port "grpc" {}
      port "metrics" {}
    }

    service {
      name = "cts-worker"
      port = "grpc"

      # The certificate of the service is for its peers, so the check is a command and no gRPC check of Consul. Consul
      # takes exit code 1 for a warning, and 2 for a failure.
      check {
        type     = "script"
        task     = "worker"
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
      tags = ["worker"]
    }

    task "worker" {
      driver       = var.driver
      kill_signal  = "SIGTERM"
      kill_timeout = "11m"

      config {
        command = var.executable
        args = [
          "worker",
          "-config-dir", "${NOMAD_TASK_DIR}",
          "-grpc-address", "0.0.0.0:${NOMAD_PORT_grpc}",
          "-working-dir", "${NOMAD_ALLOC_DIR}/data",
        ]
      }

      template {
        destination = "local/cts.hcl"
        change_mode = "restart"

        data = <<-TEMPLATE
          consul {
            address = "${var.consul}"
          }

          worker {
            slots         = 4
            drain_timeout = "10m"
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
          policies    = ["cts-worker"]
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
            {{ with pkiCert "pki/issue/cts-worker" "common_name=worker.cts.internal" "alt_names=localhost" "ip_sans=127.0.0.1" -}}
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

      # The dynamic values of cts, {{ … }}, are not for Nomad.
      dynamic "template" {
        for_each = var.settings == "" ? [] : [1]

        content {
          destination     = "local/settings.hcl"
          change_mode     = "restart"
          left_delimiter  = "[[["
          right_delimiter = "]]]"
          data            = var.settings
        }
      }

      # Tokens and credentials for the environment. A change restarts the service.
      dynamic "template" {
        for_each = var.vault && var.vault_environment ? [1] : []

        content {
          destination = "secrets/vault.env"
          env         = true
          perms       = "400"
          change_mode = "restart"
          data        = "{{ with secret \"kv/data/cts/worker\" }}{{ range $name, $value := .Data.data }}{{ $name }}={{ $value | toJSON }}\n{{ end }}{{ end }}"
        }
      }

      dynamic "template" {
        for_each = length(var.environment) > 0 ? [1] : []

        content {
          destination     = "local/environment.env"
          env             = true
          left_delimiter  = "[[["
          right_delimiter = "]]]"
          data            = join("\n", [for name, value in var.environment : "${name}=${jsonencode(value)}"])
        }
      }

      resources {
        cpu    = 200
        memory = 1024
      }
    }
  }
}
