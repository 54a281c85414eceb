#!/usr/bin/env bash
# Makes the plans of an old engine with its own test provider: make-old.sh ENGINE PROVIDER FOLDER
set -euo pipefail
engine=$1 provider=$2 out=$(mkdir -p "$3" && cd "$3" && pwd)
export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1
unset TF_CLI_CONFIG_FILE
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
place=mirror/registry.terraform.io/hashicorp/test/1.0.0/linux_amd64
mkdir -p "$place"
cp "$provider" "$place/terraform-provider-test_v1.0.0"

plan() { # NAME ARGUMENTS
  "$engine" plan -input=false -out=plan "${@:2}" >/dev/null
  "$engine" show -json plan >"$out/$1.json"
}

cat >main.tf <<'E1'
resource "test_resource" "web" {
  required     = "planted-by-name"
  required_map = { size = "1", password = "planted-by-name" }
  list         = ["a"]
}
resource "test_resource" "child" {
  required     = test_resource.web.id
  required_map = { x = "1" }
}
resource "test_resource" "replaced" {
  required           = "x"
  required_map       = { x = "1" }
  optional_force_new = "a"
}
resource "test_resource" "replaced_first" {
  required           = "x"
  required_map       = { x = "1" }
  optional_force_new = "a"
  lifecycle {
    create_before_destroy = true
  }
}
resource "test_resource" "deleted" {
  required     = "x"
  required_map = { x = "1" }
}
output "size" {
  value = test_resource.web.required_map["size"]
}
output "token" {
  value     = "planted-sensitive"
  sensitive = true
}
E1
"$engine" init -input=false -plugin-dir="$PWD/mirror" >/dev/null
plan first
"$engine" apply -input=false plan >/dev/null
sed -e 's/size = "1"/size = "2"/' -e 's/\(force_new *= \)"a"/\1"b"/' -e 's/"planted-sensitive"/"planted-sensitive-2"/' \
  -e '/"deleted"/,/^}/d' main.tf >new && mv new main.tf
cat >>main.tf <<'E2'
data "test_data_source" "read" {
  input      = test_resource.replaced.id
  depends_on = [test_resource.replaced]
}
E2
plan second
plan destroy -destroy
