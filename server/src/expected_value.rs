//! What to write for types whose own errors are about Rust, such as "invalid digit found in string".

use std::any::TypeId;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

/// Returns what to write for the type that `is_type` knows; none if the errors of the type itself say what is wrong.
pub(crate) fn expected_value(is_type: impl Fn(TypeId) -> bool) -> Option<&'static str> {
    let phrases = [
        (TypeId::of::<bool>(), "true or false"),
        (TypeId::of::<u16>(), "a whole number"),
        (TypeId::of::<u64>(), "a whole number"),
        (TypeId::of::<NonZeroU32>(), "a whole number from 1 to 4294967295"),
        (TypeId::of::<NonZeroU64>(), "a whole number from 1"),
        (TypeId::of::<NonZeroUsize>(), "a whole number from 1"),
    ];
    phrases.into_iter().find(|(known, _)| is_type(*known)).map(|(_, phrase)| phrase)
}
