task {
  name   = "t"
  module = "./m"
  condition "schedule" {
    cron                = "* * * * *"
    use_as_module_input = true
  }
}
