task {
  name      = "t"
  module    = "./m"
  providers = ["fw.a", "fw.b"]
  condition "schedule" { cron = "@daily" }
}
