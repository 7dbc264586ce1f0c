//! Members before a merge key (`<<`), to which readers of YAML 1.1 give different values.
//!
//! In most readers, a mapping's own members win. kubectl, helm and the installer of `OpenShift` read with sigs.k8s.io/yaml, a copy of
//! go-yaml 2: what a merge key adds there replaces the members before it (`decode.go`, `mapping` and `merge`).

use serde_yaml::Mapping;

use super::ambiguous::Ambiguous;
use vocabulary::report::{DocumentPath, Report};

/// How many members of a document get a warning.
const MAX_WARNINGS: usize = 100;

/// Warns of these members in the document at `path`.
pub(in crate::input) fn check(document: &Mapping, ambiguous: &[Ambiguous], path: &DocumentPath, report: &mut Report) {
    let mut left = MAX_WARNINGS;
    Ambiguous::each(document, ambiguous, path, &mut |place| {
        if *place.what == Ambiguous::BeforeMerge && left > 0 {
            left -= 1;
            let message = "has another value in what the merge key (<<) behind it adds: kubectl, helm and OpenShift's installer take that \
                           one, and dayone and other readers take this one; write the merge key before it";
            let more = if left > 0 { "" } else { "; further such members of the document are not listed" };
            report.warning("merge-key-order", place.path, format!("{message}{more}"));
        }
    });
}
