//! Options of messages, fields and methods.

use prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::prost_reflect::{DescriptorPool, DynamicMessage, Kind, Value};

/// Files that only the generator reads.
const FILES: [&str; 3] = [
    "cts/access/v1/options.proto",
    "cts/json/v1/options.proto",
    "google/protobuf/descriptor.proto",
];

/// Removes the options, which `prost_types` cannot decode, and their files.
pub(crate) fn without_options(mut files: FileDescriptorSet) -> FileDescriptorSet {
    fn take<T: Default + PartialEq>(options: &mut Option<T>) {
        options.take_if(|options| *options == T::default());
    }
    let is_read = |name: &str| !FILES.contains(&name);
    files.file.retain(|file| is_read(file.name()));
    for FileDescriptorProto {
        dependency,
        message_type,
        service,
        ..
    } in &mut files.file
    {
        dependency.retain(|name| is_read(name));
        for message in message_type {
            take(&mut message.options);
            for field in &mut message.field {
                take(&mut field.options);
            }
        }
        for method in service.iter_mut().flat_map(|service| &mut service.method) {
            take(&mut method.options);
        }
    }
    files
}

/// The value of the option with this full name; `None` if it is not set.
pub(crate) fn option(
    pool: &DescriptorPool,
    options: &DynamicMessage,
    name: &str,
) -> Option<String> {
    let extension = pool.get_extension_by_name(name).unwrap();
    if !options.has_extension(&extension) {
        return None;
    }
    Some(
        match (&*options.get_extension(&extension), extension.kind()) {
            (Value::EnumNumber(number), Kind::Enum(words)) => {
                words.get_value(*number).unwrap().name().to_owned()
            }
            (Value::String(text), _) => text.clone(),
            (value, _) => value.to_string(),
        },
    )
}
