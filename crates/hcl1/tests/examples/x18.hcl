task {
  name     = "t"
  module   = "./m"
  services = ["a"]
  condition "services" { names = ["b"] }
}
