driver "terraform" { version = "1.5" }
