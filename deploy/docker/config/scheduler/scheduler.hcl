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

# The brake of the fleet: no more instances are taken away while all services together have lost too many of theirs. The
# same on each scheduler.
fleet_max_shrink {
  share    = "20%"
  within   = "10m"
  at_least = 20
}
