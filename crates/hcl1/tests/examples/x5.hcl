terraform_provider "fw" {
  token = "{{ with secret \"kv/fw\" }}{{ .Data.t }}{{ end }}"
}
