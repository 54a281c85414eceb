consul { token = "t" }
driver "terraform" { required_providers { fw = { version = "2.0" } } }
