//! Conversions that only repeat names, declared once for both directions. The message is one of the module `proto`
//! in scope.

/// Declares the conversions of a domain struct to a message and back; all their fields have the same names and types.
macro_rules! same_fields {
    ($domain:ident, $message:ident, $to:vis $to_wire:ident, $from:vis $from_wire:ident { $($field:ident),+ $(,)? }) => {
        #[doc = concat!("Converts [`", stringify!($domain), "`] for the wire.")]
        $to fn $to_wire(value: $domain) -> proto::$message {
            proto::$message { $($field: value.$field),+ }
        }

        #[doc = concat!("Converts [`", stringify!($domain), "`] from the wire.")]
        $from fn $from_wire(value: proto::$message) -> $domain {
            $domain { $($field: value.$field),+ }
        }
    };
}

/// Declares the conversions between a domain enum and an enum of the wire with the same words. A word that is not set
/// is `None`, or the word of the domain after the semicolon.
macro_rules! same_words {
    ($domain:ident, $message:ident, $to:vis $to_wire:ident, $from:vis $from_wire:ident { $($word:ident),+ $(,)? }) => {
        #[doc = concat!("Converts [`", stringify!($domain), "`] for the wire.")]
        $to const fn $to_wire(word: $domain) -> proto::$message {
            match word { $($domain::$word => proto::$message::$word),+ }
        }

        #[doc = concat!("Converts [`", stringify!($domain), "`] from the wire.")]
        $from const fn $from_wire(word: proto::$message) -> Option<$domain> {
            match word {
                proto::$message::Unspecified => None,
                $(proto::$message::$word => Some($domain::$word)),+
            }
        }
    };
    ($domain:ident, $message:ident, $to:vis $to_wire:ident, $from:vis $from_wire:ident { $($word:ident),+; $unset:ident }) => {
        #[doc = concat!("Converts [`", stringify!($domain), "`] for the wire.")]
        $to const fn $to_wire(word: $domain) -> proto::$message {
            match word {
                $domain::$unset => proto::$message::Unspecified,
                $($domain::$word => proto::$message::$word),+
            }
        }

        #[doc = concat!("Converts [`", stringify!($domain), "`] from the wire.")]
        $from const fn $from_wire(word: proto::$message) -> $domain {
            match word {
                proto::$message::Unspecified => $domain::$unset,
                $(proto::$message::$word => $domain::$word),+
            }
        }
    };
}

pub(super) use same_fields;
pub(super) use same_words;
