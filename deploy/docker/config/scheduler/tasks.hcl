# An example. Its module needs no provider.
task {
  name   = "hello"
  module = "/modules/hello"

  condition "services" {
    names = ["web"]
  }

  buffer_period {
    min = "1s"
    max = "10s"
  }
}
