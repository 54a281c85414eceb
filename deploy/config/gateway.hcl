# Settings of the gateway alone; goes to /etc/cts.d/gateway/. Tokens travel to the API, so the API has TLS, with the
# certificate of the service.
tls {
  cert = "/etc/cts.d/gateway/gateway.pem"
  key  = "/etc/cts.d/gateway/gateway-key.pem"
}
