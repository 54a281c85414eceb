#!/usr/bin/env bash
# Makes plans with actions of a provider and with deferrals: make-actions.sh ENGINE PROVIDER FOLDER
set -euo pipefail
engine=$1 provider=$2 out=$(mkdir -p "$3" && cd "$3" && pwd)
export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1
unset TF_CLI_CONFIG_FILE
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
place=mirror/registry.terraform.io/hashicorp/simple/1.0.0/linux_amd64
mkdir -p "$place"
cp "$provider" "$place/terraform-provider-simple_v1.0.0"

plan() { # NAME ARGUMENTS
  "$engine" plan -input=false -out=plan "${@:2}" >/dev/null
  "$engine" show -json plan >"$out/$1.json"
}

cat >main.tf <<'E1'
resource "simple_resource" "web" {
  value = "x"
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.simple_notify.now]
    }
  }
}
action "simple_notify" "now" {
  config {
    message = "planted-by-configuration"
  }
}
E1
"$engine" init -input=false -plugin-dir="$PWD/mirror" >/dev/null
plan actions

cat >main.tf <<'E2'
resource "terraform_data" "first" {}
resource "terraform_data" "many" {
  for_each = toset([terraform_data.first.id])
}
E2
plan deferred -allow-deferral
