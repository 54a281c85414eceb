//! The lines of the original, in the order of their moments: level, name and an expression for the message with its keys.

/// Lines of one start, in which each thing happens once.
pub(super) const START: &str = r"
INFO cli ^\d+\.\d+\.\d+
INFO ctrl ^setting up controller: type=daemon$
INFO ctrl ^initializing Consul client and testing connection$
INFO driver.terraform ^skipping install, terraform already exists: tf_version=\d+\.\d+\.\d+ install_path=/\S+
INFO cli ^initializing controller$
INFO ctrl ^initializing driver factory$
INFO api ^starting server: port=\d+$
INFO ctrl ^executing all tasks once through(: tasks=\d+)?$
INFO registration ^registering Consul-Terraform-Sync as a service with Consul: id=.+ service_name=consul-terraform-sync
INFO registration ^Consul-Terraform-Sync registered as a service with Consul: id=.+ service_name=consul-terraform-sync
INFO registration ^to view registered services, navigate to the Services section in the Consul UI: id=.+ service_name=
INFO ctrl ^running task once: task_name=web\b
INFO client.terraformcli ^Terraform output is muted
INFO driver.terraform ^retrieved 0 Terraform handlers for task: task_name=web$
INFO ctrl ^task completed: task_name=web\b
INFO ctrl ^all tasks completed once$
INFO ctrl ^start task monitoring$
WARN config.task ^disabling buffer_period for schedule condition. overriding buffer_period configured for this task: task_name=nightly
";

pub(super) const CHANGE: &str = r#"
INFO tasksmanager ^executing task: task_name=web\b
INFO tasksmanager ^task completed: task_name=web\b
INFO tasksmanager ^scheduled task next run time: task_name=nightly wait_time=[0-9.hms]+ next_runtime="?\d{4}-
"#;

pub(super) const REQUESTS: &str = "
INFO api.updatetask ^generating inspect plan if task becomes enabled: request_id=[0-9a-f-]{36} task_name=web$
INFO api.updatetask ^enabling task: request_id=[0-9a-f-]{36} task_name=web$
INFO api.updatetask ^disabling task: request_id=[0-9a-f-]{36} task_name=web$
ERROR api.createtask ^bad request: request_id=
ERROR api.createtask ^error creating task: request_id=
ERROR api.createtask ^error inspecting new task: request_id=
";

pub(super) const FAILURE: &str = r#"
WARN retry ^retrying: attempt_number=2 description="ApplyTask web"
WARN retry ^retrying: attempt_number=3 description="ApplyTask web"
ERROR tasksmanager ^error running task: task_name=web\b
"#;

pub(super) const END: &str = "
INFO cli ^signal received to initiate graceful shutdown: signal=interrupt$
INFO api ^shutdown api server$
INFO tasksmanager ^stop monitoring tasks$
INFO tasksmanager ^stopping dependency monitoring$
INFO registration ^deregistering Consul-Terraform-Sync from Consul: id=
INFO registration ^Consul-Terraform-Sync deregistered from Consul: id=
INFO cli ^graceful shutdown$
";

pub(super) const ONCE: &str = r"
INFO ctrl ^setting up controller: type=once$
INFO ctrl ^executing all tasks once through
INFO ctrl ^running task once: task_name=web\b
INFO ctrl ^task completed: task_name=web\b
INFO ctrl ^all tasks completed once\b
INFO cli ^graceful shutdown$
";

pub(super) const INSPECT: &str = r"
INFO ctrl ^setting up controller: type=inspect$
INFO ctrl ^inspecting all tasks
INFO ctrl ^inspecting task: task_name=web\b
INFO ctrl ^inspection results: task_name=web\b
INFO ctrl ^inspected task: task_name=web\b
INFO ctrl ^all tasks inspected
INFO cli ^graceful shutdown$
";
