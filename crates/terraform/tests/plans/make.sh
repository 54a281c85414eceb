#!/usr/bin/env bash
# Makes the plans of one engine with `terraform_data`: make.sh ENGINE FOLDER
set -euo pipefail
engine=$1 out=$(mkdir -p "$2" && cd "$2" && pwd)
export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1
unset TF_CLI_CONFIG_FILE
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

plan() { # NAME ARGUMENTS
  "$engine" plan -input=false -out=plan "${@:2}" >/dev/null
  "$engine" show -json plan >"$out/$1.json"
}

common='
variable "secret" {
  type      = string
  sensitive = true
  default   = "planted-sensitive"
}
'

cat >main.tf <<E1
$common
resource "terraform_data" "web" {
  input = {
    size     = 1
    ratio    = 1.10
    big      = 12345678901234567890
    tags     = { name = "a", "odd key" = "b" }
    rule     = [{ port = 80 }]
    empty    = []
    none     = null
    password = "planted-by-name"
  }
}
resource "terraform_data" "hidden" {
  input = { inner = [var.secret], plain = 1 }
}
resource "terraform_data" "child" {
  input = terraform_data.web.id
}
resource "terraform_data" "replaced" {
  triggers_replace = ["a"]
}
resource "terraform_data" "replaced_first" {
  triggers_replace = ["a"]
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "old_name" {}
resource "terraform_data" "deleted" {
  for_each = toset(["x"])
}
resource "terraform_data" "forgotten" {
  input = "stays"
}
output "size" {
  value = terraform_data.web.input.size
}
output "id" {
  value = terraform_data.web.id
}
output "token" {
  value     = var.secret
  sensitive = true
}
E1
"$engine" init -input=false >/dev/null
plan first
"$engine" apply -input=false plan >/dev/null

cat >main.tf <<E2
$common
resource "terraform_data" "web" {
  input = {
    size     = 2
    ratio    = 1.10
    big      = 12345678901234567891
    tags     = { name = "a", "odd key" = "c" }
    rule     = [{ port = 80 }, { port = 443 }]
    empty    = []
    none     = null
    password = "planted-by-name-2"
  }
}
resource "terraform_data" "hidden" {
  input = { inner = [var.secret, "x"], plain = 1 }
}
resource "terraform_data" "child" {
  input = terraform_data.web.id
}
resource "terraform_data" "replaced" {
  triggers_replace = ["b"]
}
resource "terraform_data" "replaced_first" {
  triggers_replace = ["b"]
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "new_name" {}
moved {
  from = terraform_data.old_name
  to   = terraform_data.new_name
}
resource "terraform_data" "imported" {}
import {
  to = terraform_data.imported
  id = "id-of-the-import"
}
data "terraform_remote_state" "read" {
  backend    = "local"
  config     = { path = "missing.tfstate" }
  defaults   = { x = 1 }
  depends_on = [terraform_data.replaced]
}
output "size" {
  value = terraform_data.web.input.size
}
output "id" {
  value = terraform_data.web.id
}
output "token" {
  value     = "\${var.secret}-2"
  sensitive = true
}
E2
cat >forgotten.tf <<'E3'
removed {
  from = terraform_data.forgotten
  lifecycle {
    destroy = false
  }
}
E3
plan second
plan destroy -destroy
