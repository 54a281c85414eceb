driver "terraform-cloud" { organization = "o" }
