//! What every code of a finding means: what will happen on the host, and how to mend it.
//!
//! Whoever makes findings with a new code adds its entry to the file of its subject here; a new subject is a file and a
//! line in [`SUBJECTS`]. A debug assertion in [`Report`](super::Report) and the tests of this module see to it, so that
//! no finding is without an explanation, and no explanation without findings. `docs/findings.md` is made of it:
//! `UPDATE_GOLDEN=1 cargo test -p hosts catalogue`.

mod addresses;
mod bases;
mod between_hosts;
mod bonds;
mod documents;
mod fleets;
mod forms;
mod hosts;
mod inputs;
mod interfaces;
mod joins;
mod keyfiles;
mod links;
mod macs;
mod manifests;
mod network_data;
mod nics;
mod nmstate;
mod objects;
mod openshift;
mod reachability;
mod routes;
mod second_step;
mod secrets;

/// What the findings of one code have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Explanation {
    /// The code, in kebab case.
    pub code: &'static str,
    /// What is wrong, in one line: no full stop.
    pub title: &'static str,
    /// What will happen on the host if it is started like this; or what is not done, where nothing can be.
    pub consequence: &'static str,
    /// What to change.
    pub mend: &'static str,
    /// A part of a document as it ought to be, in YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<&'static str>,
}

/// All explanations, by subject.
const SUBJECTS: &[&[Explanation]] = &[
    addresses::EXPLANATIONS,
    bases::EXPLANATIONS,
    between_hosts::EXPLANATIONS,
    bonds::EXPLANATIONS,
    documents::EXPLANATIONS,
    fleets::EXPLANATIONS,
    forms::EXPLANATIONS,
    hosts::EXPLANATIONS,
    inputs::EXPLANATIONS,
    interfaces::EXPLANATIONS,
    joins::EXPLANATIONS,
    keyfiles::EXPLANATIONS,
    links::EXPLANATIONS,
    macs::EXPLANATIONS,
    manifests::EXPLANATIONS,
    nics::EXPLANATIONS,
    network_data::EXPLANATIONS,
    nmstate::EXPLANATIONS,
    objects::EXPLANATIONS,
    openshift::EXPLANATIONS,
    reachability::EXPLANATIONS,
    routes::EXPLANATIONS,
    second_step::EXPLANATIONS,
    secrets::EXPLANATIONS,
];

/// The explanation of the findings with this code.
pub fn explain(code: &str) -> Option<&'static Explanation> {
    SUBJECTS.iter().copied().flatten().find(|explanation| explanation.code == code)
}

/// All explanations, sorted by their codes.
pub fn explanations() -> Vec<&'static Explanation> {
    let mut all: Vec<_> = SUBJECTS.iter().copied().flatten().collect();
    all.sort_by_key(|explanation| explanation.code);
    all
}
