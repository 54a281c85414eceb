//! Members of a task that are missing, unknown or of another type.

use super::{at, schema, taken_with};
use crate::api::row::Row;

/// A member of a task, its value, the place of the error and the reason.
const ROWS: &str = r#"
name | 1 | /task/name | value must be a string
name | null | /task/name | Value is not nullable
module | true | /task/module | value must be a string
module | null | /task/module | Value is not nullable
description | {} | /task/description | value must be a string
description | null | /task/description | Value is not nullable
version | 1.5 | /task/version | value must be a string
enabled | "true" | /task/enabled | value must be a boolean
enabled | 1 | /task/enabled | value must be a boolean
providers | "local" | /task/providers | value must be an array
providers | null | /task/providers | Value is not nullable
providers | ["a", 1] | /task/providers/1 | value must be a string
providers | ["a", null] | /task/providers/1 | Value is not nullable
variables | [] | /task/variables | value must be an object
variables | null | /task/variables | Value is not nullable
variables | {"a": 1} | /task/variables/a | value must be a string
variables | {"a/b~c": 1} | /task/variables/a/b~c | value must be a string
variables | {"a": null} | /task/variables/a | Value is not nullable
terraform_version | 1 | /task/terraform_version | value must be a string
buffer_period | [] | /task/buffer_period | value must be an object
buffer_period | {"min": 5} | /task/buffer_period/min | value must be a string
buffer_period | {"max": null} | /task/buffer_period/max | Value is not nullable
buffer_period | {"enabled": "x"} | /task/buffer_period/enabled | value must be a boolean
buffer_period | {"x": 1} | /task/buffer_period | property "x" is unsupported
condition | [] | /task/condition | value must be an object
condition | null | /task/condition | Value is not nullable
condition | {"x": {}} | /task/condition | property "x" is unsupported
condition | {"services": []} | /task/condition/services | value must be an object
condition | {"services": {"names": "web"}} | /task/condition/services/names | value must be an array
condition | {"services": {"names": ["web", 2]}} | /task/condition/services/names/1 | value must be a string
condition | {"services": {"use_as_module_input": 1}} | /task/condition/services/use_as_module_input | value must be a boolean
condition | {"services": {"node_meta": {}}} | /task/condition/services | property "node_meta" is unsupported
condition | {"catalog_services": {}} | /task/condition/catalog_services/regexp | property "regexp" is missing
condition | {"catalog-services": {}} | /task/condition | property "catalog-services" is unsupported
condition | {"consul_kv": {}} | /task/condition/consul_kv/path | property "path" is missing
condition | {"consul_kv": {"path": "a", "recurse": "x"}} | /task/condition/consul_kv/recurse | value must be a boolean
condition | {"schedule": {}} | /task/condition/schedule/cron | property "cron" is missing
module_input | null | /task/module_input | Value is not nullable
module_input | {"catalog_services": {}} | /task/module_input | property "catalog_services" is unsupported
module_input | {"services": {"use_as_module_input": true}} | /task/module_input/services | property "use_as_module_input" is unsupported
module_input | {"consul_kv": {"recurse": true}} | /task/module_input/consul_kv/path | property "path" is missing
terraform_cloud_workspace | {"execution_mode": 1} | /task/terraform_cloud_workspace/execution_mode | value must be a string
terraform_cloud_workspace | {"x": ""} | /task/terraform_cloud_workspace | property "x" is unsupported
services | [] | /task | property "services" is unsupported
source | [] | /task | property "source" is unsupported
source_input | [] | /task | property "source_input" is unsupported
source_includes_var | [] | /task | property "source_includes_var" is unsupported
working_dir | [] | /task | property "working_dir" is unsupported
variable_files | [] | /task | property "variable_files" is unsupported
Name | [] | /task | property "Name" is unsupported
origin | [] | /task | property "origin" is unsupported
"#;

pub(super) fn rows() -> Vec<Row> {
    let rows = ROWS.trim().lines().map(|line| {
        let columns: Vec<&str> = line.split(" | ").collect();
        let [member, value, pointer, reason] = columns[..] else {
            panic!("{line}");
        };
        let value = serde_json::from_str(value).unwrap();
        let body = taken_with(|task| task[member] = value);
        schema(&body, &at(pointer, reason))
    });
    rows.collect()
}
