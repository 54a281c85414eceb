consul { address = "10.0.0.1:8500" }
driver "terraform" { required_providers { fw = { source = "acme/fw" version = "1.0" } } }
