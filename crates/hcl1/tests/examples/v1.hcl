task {
  name   = "hello"
  module = "./modules/hello"
  condition "services" { names = ["web"] }
}
