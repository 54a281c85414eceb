# Settings of the scheduler alone; goes to /etc/cts.d/scheduler/. The URL of the database is in the environment:
# CTS_DATABASE_URL in /etc/default/cts-scheduler. Tasks may be in further files of that directory.
high_availability {
  cluster {
    name = "cts"

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

# cts.hcl has a task with more settings.
task {
  name   = "hello"
  module = "/etc/cts.d/modules/hello"

  condition "services" {
    names = ["web"]
  }
}
