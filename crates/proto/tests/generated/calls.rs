//! The table of the calls (`src/calls.rs`), from the option `role` of each method
//! (`proto/cts/access/v1/options.proto`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use protox::prost_reflect::{DescriptorPool, MethodDescriptor};

use super::options::option;

/// The Rust source of the table. Panics if a method has no role.
pub(crate) fn table(pool: &DescriptorPool) -> String {
    let methods = pool.services().flat_map(|service| {
        let methods: Vec<_> = service.methods().collect();
        methods
    });
    let methods: BTreeMap<String, MethodDescriptor> = methods
        .map(|method| {
            let service = method.parent_service().full_name();
            (format!("/{service}/{}", method.name()), method)
        })
        .collect();
    let mut source = "// This file is @generated from the options of the methods.\n".to_owned();
    let mut rows = String::new();
    for (path, method) in methods {
        let role = role(pool, &method);
        let callers = if ["Read", "Approve", "Operate", "Admin"].contains(&&*role) {
            let name = upper_snake(method.name());
            write!(
                source,
                "/// Least role for `{path}`.\npub const {name}: Role = Role::{role};\n"
            )
            .unwrap();
            format!("People({name})")
        } else {
            role
        };
        writeln!(
            rows,
            "    Call {{ path: \"{path}\", callers: Callers::{callers} }},"
        )
        .unwrap();
    }
    let doc = "/// All calls, in the order of their paths.";
    format!("{source}{doc}\npub const CALLS: &[Call] = &[\n{rows}];\n")
}

/// The role of a method, such as `Read`.
fn role(pool: &DescriptorPool, method: &MethodDescriptor) -> String {
    let role = option(pool, &method.options(), "cts.access.v1.role");
    let role = role.as_deref().and_then(|role| role.strip_prefix("ROLE_"));
    let role = role.filter(|role| *role != "UNSPECIFIED");
    let Some(role) = role else {
        panic!("{} needs the option cts.access.v1.role", method.full_name());
    };
    format!("{}{}", &role[..1], role[1..].to_lowercase())
}

/// `GetTask` as `GET_TASK`.
fn upper_snake(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(letter.to_ascii_uppercase());
    }
    words
}
