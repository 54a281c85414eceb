driver "terraform" { backend "remote" { organization = "o" } }
