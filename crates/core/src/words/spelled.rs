//! Enumerations whose values have a stable spelling.

/// Declares an enumeration, each value with its spelling in files, requests, answers and stores.
#[macro_export]
macro_rules! spelled {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_value:meta])* $value:ident = $spelling:literal,)+
        }
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$of_value])* $value,)+
        }

        impl $name {
            /// All values, in their order.
            $vis const ALL: [Self; [$($spelling),+].len()] = [$(Self::$value),+];

            /// The spelling.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $spelling,)+
                }
            }
        }
    };
}
