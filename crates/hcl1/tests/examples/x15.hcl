task {
  name           = "t"
  module         = "./m"
  variable_files = ["does-not-exist.tfvars"]
  condition "services" { names = ["a"] }
}
