//! Enumerations of the API: texts, to which servers add new ones.

/// Declares an enumeration of texts. A text that is not listed becomes `Other`, as one line of limited length.
macro_rules! text_enum {
    (
        $(#[$attribute:meta])*
        $name:ident { $($variant:ident = $text:literal,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        #[serde(from = "String")]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "`.")]
                $variant,
            )+
            /// Any other text.
            Other(String),
        }

        impl $name {
            /// The text of the API.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)+
                    _ => Self::Other(cts_core::excerpt(&text, 60)),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use text_enum;
