//! Explains every code of a finding: what happens on the host, and how to fix it.
//!
//! The texts are in `catalogue/*.yaml`, one file for each subject. The build script reads them. A debug assertion in
//! [`Report`](super::Report) and tests make sure that every code has an explanation, and that every explanation is used.
//! `docs/reference/findings.md` is generated from them: `UPDATE_GOLDEN=1 cargo nextest run --workspace catalogue`.

use super::NetworkFormat;

/// The explanation of one code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Explanation {
    /// The code, in kebab case.
    #[schema(example = "ip-not-enabled")]
    pub code: &'static str,
    /// What is wrong, in one line without a full stop.
    pub title: &'static str,
    /// What happens on the host if it boots like this, or what dayone leaves undone.
    pub effect: &'static str,
    /// What to change.
    pub fix: &'static str,
    /// A correct example, in YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<&'static str>,
}

/// All explanations, sorted by code.
static EXPLANATIONS: &[Explanation] = include!(concat!(env!("OUT_DIR"), "/explanations.rs"));

/// The fixes in the words of formats other than NMState: code, format, fix.
static FIXES: &[(&str, NetworkFormat, &str)] = include!(concat!(env!("OUT_DIR"), "/fixes.rs"));

/// Returns what to change in a network that the user wrote in `format`, if its words are not those of
/// [`fix`](Explanation::fix).
pub fn fix_in(code: &str, format: NetworkFormat) -> Option<&'static str> {
    FIXES.iter().find(|(of, written, _)| *of == code && *written == format).map(|(.., fix)| *fix)
}

/// Returns the explanation of a code.
pub fn explain(code: &str) -> Option<&'static Explanation> {
    let index = EXPLANATIONS.binary_search_by_key(&code, |explanation| explanation.code).ok()?;
    EXPLANATIONS.get(index)
}

/// Returns all explanations, sorted by code.
pub fn explanations() -> &'static [Explanation] {
    EXPLANATIONS
}
