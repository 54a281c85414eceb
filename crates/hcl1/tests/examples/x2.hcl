task {
  name   = "t"
  module = "./m"
  condition "services" {
    names  = ["a"]
    regexp = "b"
  }
}
