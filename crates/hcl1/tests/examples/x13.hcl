consul { service_registration { default_check { address = "10.0.0.1:8558" } } }
