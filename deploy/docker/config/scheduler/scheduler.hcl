# Settings of the scheduler, and of the commands that use the database.
database {
  url_file = "/secrets/database_url"
}

high_availability {
  cluster {
    name = "compose"
    storage "postgres" {
      session_ttl = "15s"
    }
  }
}
