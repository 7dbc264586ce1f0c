//! What to write for types whose own errors are about Rust, such as "invalid digit found in string".

use std::any::TypeId;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

/// Returns what to write for the type that `is_type` knows; none if the errors of the type itself say what is wrong.
pub(crate) fn expected_value(is_type: impl Fn(TypeId) -> bool) -> Option<&'static str> {
    phrases().into_iter().find(|(known, ..)| is_type(*known)).map(|(.., phrase)| phrase)
}

/// Returns what to write for the type that serde's errors call by this name; none if that says what is wrong.
pub(crate) fn expected_by_serde(name: &str) -> Option<&'static str> {
    phrases().into_iter().find(|(_, known, _)| *known == name).map(|(.., phrase)| phrase)
}

/// Types, serde's names for them, and what to write.
fn phrases() -> [(TypeId, &'static str, &'static str); 9] {
    const FROM_ZERO: &str = "a whole number from 0";
    const FROM_ONE: &str = "a whole number from 1";
    [
        (TypeId::of::<bool>(), "a boolean", "true or false"),
        (TypeId::of::<u16>(), "u16", "a whole number from 0 to 65535"),
        (TypeId::of::<u32>(), "u32", "a whole number from 0 to 4294967295"),
        (TypeId::of::<u64>(), "u64", FROM_ZERO),
        (TypeId::of::<usize>(), "usize", FROM_ZERO),
        (TypeId::of::<i64>(), "i64", "a whole number"),
        (TypeId::of::<NonZeroU32>(), "a nonzero u32", "a whole number from 1 to 4294967295"),
        (TypeId::of::<NonZeroU64>(), "a nonzero u64", FROM_ONE),
        (TypeId::of::<NonZeroUsize>(), "a nonzero usize", FROM_ONE),
    ]
}
