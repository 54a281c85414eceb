//! A block whose settings stand in its struct: each key once, with its type, its default, and the method of
//! [`Keys`](crate::keys::Keys) that reads and dumps it.

/// Defines a struct with its defaults and its keys, which are called like the fields:
///
/// `field: Type = default => method(arguments)`, with a note for a dump that leaves the key out.
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[$of_field:meta])*
                pub $key:ident: $type:ty = $default:expr
                    => $method:ident $(($($argument:expr),+))? $(or $note:literal)?,
            )+
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name {
            $($(#[$of_field])* pub $key: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }

        impl crate::keys::Keyed for $name {
            fn keys(&mut self, keys: &mut crate::keys::Keys<'_, '_>) {
                $(
                    keys.$method(stringify!($key), &mut self.$key $(, $($argument),+)?)
                        $(.or_note($note))?;
                )+
            }
        }
    };
}

pub(crate) use settings;
