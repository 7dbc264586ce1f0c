//! NMState: as a document of its own, and as the text that other documents hold.

use serde_yaml::Value;

use super::flaw::kind_of;
use super::object::report_wrong_type;
use super::octals;
use super::yaml::{self, Budget, Document};
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, Report};

/// The members of NMState's `NetworkState`, and those of nmpolicy, of which the checks of the network say more than that
/// they are unknown. One of them makes a mapping without `kind` and `apiVersion` NMState.
pub(super) const MEMBERS: [&str; 9] =
    ["interfaces", "routes", "dns-resolver", "route-rules", "hostname", "ovs-db", "ovn", "capture", "desiredState"];

/// The NMState in `text`, which is held at `path`. What keeps it from being read is reported.
pub(super) fn embedded(
    text: &[u8],
    path: &DocumentPath,
    budget: &mut Budget,
    report: &mut Report,
) -> Option<NmstateDocument> {
    let mut documents = match yaml::documents(text, budget) {
        Ok(documents) => documents,
        Err(problem) => {
            report.error_in_text(problem.code, path, format!("{problem}"), problem.position);
            return None;
        }
    };
    match (documents.pop(), documents.len()) {
        (Some(Document { value: Value::Mapping(mapping), octals }), 0) => {
            let path = path.embedded_document();
            octals::check(&mapping, &octals, &path, report);
            Some(NmstateDocument::new(Value::Mapping(mapping), path))
        }
        (Some(Document { value: other @ Value::Tagged(_), .. }), 0) => {
            report_wrong_type(&other, path, "NMState", report);
            None
        }
        (None, _) => {
            report.error("nmstate-empty", path, "is empty; write the network of a host here");
            None
        }
        (Some(other), 0) => {
            let message = format!("is {}; NMState is a mapping (interfaces, routes, …)", kind_of(&other.value));
            report.error("nmstate-not-mapping", path, message);
            None
        }
        (Some(_), more) => {
            let message = format!("contains {} documents; NMState is one", more + 1);
            report.error("nmstate-several-documents", path, message);
            None
        }
    }
}
