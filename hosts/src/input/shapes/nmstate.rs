//! NMState: as a document of its own, and as text in other documents.

use serde_yaml::Value;

use crate::input::fields::refuse_type;
use crate::input::yaml::invalid::kind_of;
use crate::input::yaml::{self, Budget, Document, octals};
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, Report, Reported};

/// The members of NMState's `NetworkState`. One of them makes a mapping without `kind` and `apiVersion` NMState. The members of
/// nmpolicy are here as well, because the checks of the network have better messages about them.
pub(in crate::input) const MEMBERS: [&str; 9] =
    ["interfaces", "routes", "dns-resolver", "route-rules", "hostname", "ovs-db", "ovn", "capture", "desiredState"];

/// Parses NMState in `text`, which another document contains at `path`.
pub(in crate::input) fn embedded(
    text: &[u8],
    path: &DocumentPath,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<NmstateDocument, Reported> {
    let mut documents = yaml::documents(text, budget).map_err(|problem| {
        report.error_in_text(problem.code, path, problem.to_string(), problem.position);
        Reported
    })?;
    let (code, message) = match (documents.pop(), documents.len()) {
        (Some(Document { value: Value::Mapping(mapping), ambiguous }), 0) => {
            let path = path.embedded_document();
            octals::check(&mapping, &ambiguous, &path, report);
            return Ok(NmstateDocument::new(Value::Mapping(mapping), path));
        }
        (Some(Document { value: other @ Value::Tagged(_), .. }), 0) => {
            return Err(refuse_type(&other, path, "NMState", report));
        }
        (None, _) => ("nmstate-empty", "is empty; write the network of a host here".to_owned()),
        (Some(other), 0) => {
            let message = format!("is {}; NMState is a mapping (interfaces, routes, …)", kind_of(&other.value));
            ("nmstate-not-mapping", message)
        }
        (Some(_), more) => ("nmstate-several-documents", format!("contains {} documents; NMState is one", more + 1)),
    };
    Err(report.refuse(code, path, message))
}
