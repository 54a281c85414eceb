//! Serde's attributes of the messages that are answers of the REST API, from the options in
//! `proto/cts/json/v1/options.proto` (`src/json.rs` has the helpers).

use protox::prost_reflect::{
    Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor,
};
use tonic_prost_build::Builder;

use super::options::option;

/// Adds the attributes.
pub(crate) fn with_json(mut builder: Builder, pool: &DescriptorPool) -> Builder {
    const DERIVE: &str = "#[derive(::serde::Serialize, ::serde::Deserialize)]";
    for message in pool.all_messages() {
        let name = message.full_name();
        let Some(members) = option(pool, &message.options(), "cts.json.v1.members") else {
            refuse_options(pool, &message);
            continue;
        };
        builder = builder.message_attribute(name, DERIVE);
        if members == "MEMBERS_WITH_DEFAULTS" {
            builder = builder.message_attribute(name, "#[serde(default)]");
        }
        for field in message.fields() {
            for argument in arguments(pool, &field) {
                builder =
                    builder.field_attribute(field.full_name(), format!("#[serde({argument})]"));
            }
        }
    }
    builder
}

/// Panics if a field of a message without a JSON form has an option.
fn refuse_options(pool: &DescriptorPool, message: &MessageDescriptor) {
    for field in message.fields() {
        for name in ["name", "left_out", "form"] {
            let set = option(pool, &field.options(), &format!("cts.json.v1.{name}"));
            assert_eq!(
                set,
                None,
                "{} is not a field of an answer",
                field.full_name()
            );
        }
    }
}

/// Arguments of the attributes of a field.
fn arguments(pool: &DescriptorPool, field: &FieldDescriptor) -> Vec<String> {
    let option = |name| option(pool, &field.options(), &format!("cts.json.v1.{name}"));
    let mut arguments = Vec::new();
    arguments.extend(option("name").map(|name| format!("rename = \"{name}\"")));
    if option("left_out").is_some_and(|set| set == "true") {
        arguments.push("skip_serializing_if = \"crate::json::is_empty\"".to_owned());
    }
    arguments.push(match option("form").as_deref() {
        Some("FORM_SECONDS") => "with = \"crate::json::seconds\"".to_owned(),
        Some("FORM_SECONDS_OR_ZERO") => "with = \"crate::json::seconds_or_zero\"".to_owned(),
        Some("FORM_OR_EMPTY") => "with = \"crate::json::or_empty\"".to_owned(),
        Some("FORM_OR_NULL") => String::new(),
        Some("FORM_FLATTENED") => "flatten".to_owned(),
        Some(other) => panic!("{other} of {} is not implemented", field.full_name()),
        None => form(field),
    });
    arguments.retain(|argument| !argument.is_empty());
    arguments
}

/// The form of a field that follows from its type.
fn form(field: &FieldDescriptor) -> String {
    let with = |with: &str, absent: &str| {
        format!("with = \"crate::json::{with}\", skip_serializing_if = \"{absent}\"")
    };
    match field.kind() {
        Kind::Enum(words) => {
            let name = words.full_name().replacen("cts.", "crate::", 1);
            let name = name.replace('.', "::");
            format!("with = \"crate::json::Words::<{name}>\"")
        }
        Kind::Message(of) if of.full_name() == "google.protobuf.Timestamp" => {
            with("time", "crate::json::time::is_absent")
        }
        Kind::Message(of) if of.full_name() == "google.protobuf.Duration" => {
            with("milliseconds", "Option::is_none")
        }
        Kind::Message(_) if field.cardinality() != Cardinality::Repeated => {
            "skip_serializing_if = \"Option::is_none\"".to_owned()
        }
        _ if field.field_descriptor_proto().proto3_optional() => {
            "skip_serializing_if = \"Option::is_none\"".to_owned()
        }
        _ => String::new(),
    }
}
