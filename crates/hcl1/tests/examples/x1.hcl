task {
  name   = "t"
  module = "./m"
  condition "services" { names = ["a"] }
  module_input "services" { names = ["b"] }
}
