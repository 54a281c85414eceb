tls { verify_incoming = false }
