buffer_period { min = "10" }
