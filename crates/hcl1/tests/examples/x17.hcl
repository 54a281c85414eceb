terraform_provider "fw" {
  task_env { FW_RETRIES = 3 }
}
