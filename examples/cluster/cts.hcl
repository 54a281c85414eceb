# Four services on one machine; the addresses are the defaults. CTS_DATABASE_URL names the Postgres database.
log_level = "INFO"

services {
  schedulers = ["127.0.0.1:8560"]
  watchers   = ["127.0.0.1:8561"]
}

high_availability {
  cluster {
    name = "example"
    storage "postgres" {
      session_ttl = "15s"
    }
  }
}

worker {
  slots       = 4
  working_dir = "worker"
}

task {
  name   = "hello"
  module = "./modules/hello"

  condition "services" { names = ["web"] }
}
