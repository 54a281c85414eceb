consul { adress = "x" }
task {
  name    = "t"
  modules = "./m"
  condition "services" { names = ["a"] }
}
