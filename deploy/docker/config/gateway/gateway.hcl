# Settings of the gateway alone. Tokens travel to the API, so the API has TLS, with the certificate of the service.
tls {
  cert = "/tls/cert.pem"
  key  = "/tls/key.pem"
}
