//! `NMStateConfig` of assisted-service: a host's network, and which of its NICs has which name there.
//!
//! Source: openshift/assisted-service, `api/v1beta1/nmstateconfig_types.go`. It belongs to the machine that has one of
//! its MAC addresses (`internal/controller/controllers/bmh_agent_controller.go` and `preprovisioningimage_controller.go`).

use serde_yaml::Value;

use super::flaw::Reported;
use super::nics::nics;
use super::object::Object;
use super::part::HostPart;
use vocabulary::host::NmstateDocument;
use vocabulary::report::Report;

pub(super) const KIND: &str = "NMStateConfig";
pub(super) const API_VERSIONS: [&str; 1] = ["agent-install.openshift.io/v1beta1"];

/// What `object` says of its host.
pub(super) fn part(object: &Object, report: &mut Report) -> Result<HostPart, Reported> {
    let top = object.fields();
    let Some(spec) = top.mapping("spec", report)? else {
        return Err(top.wrong("spec", "spec-missing", "is missing", report));
    };
    let nics = nics(&spec, report);
    let Some(config) = spec.whole_mapping("config", report)? else {
        let message = "is missing: write the host's network there, as NMState";
        return Err(spec.wrong("config", "network-missing", message, report));
    };
    let network = NmstateDocument::new(Value::Mapping(config.mapping.clone()), config.path);
    Ok(HostPart {
        name: Some((object.name.clone(), top.path.key("metadata").key("name"))),
        namespace: object.namespace.clone(),
        nics: nics?,
        network: Some(network.into()),
        ..HostPart::new(KIND, object.path.clone())
    })
}
