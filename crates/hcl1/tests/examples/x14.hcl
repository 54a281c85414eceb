consul { address = "a" }
consul { token = "b" }
