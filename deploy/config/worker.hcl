# Settings of the worker alone; goes to /etc/cts.d/worker/. Tokens and credentials are in the environment:
# /etc/default/cts-worker.
worker {
  # Runs at the same time.
  slots = 4

  # What Terraform gets of the environment. Add the variables of your providers.
  environment = ["HOME", "LANG", "PATH", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_*", "TF_*"]
}

# Terraform's states are in Consul's KV store. Blocks terraform_provider belong into this file, too.
driver "terraform" {
  backend "consul" {
    gzip = true
  }
}
