task {
  name   = "web task"
  module = "./m"
  condition "services" { names = ["a"] }
}
