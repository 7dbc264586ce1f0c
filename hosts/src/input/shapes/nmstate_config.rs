//! `NMStateConfig` of assisted-service: a host's network, and the MAC addresses of the NICs in it.
//!
//! Source: openshift/assisted-service, `api/v1beta1/nmstateconfig_types.go`. It belongs to the machine that has one of its MAC
//! addresses (`internal/controller/controllers/bmh_agent_controller.go` and `preprovisioningimage_controller.go`).

use super::nics::nics;
use crate::input::document::Object;
use crate::input::host_part::HostPart;
use vocabulary::report::{Report, Reported};

pub(super) const KIND: &str = "NMStateConfig";
pub(super) const API_VERSIONS: &[&str] = &["agent-install.openshift.io/v1beta1"];

/// Reads what `object` says about its host.
pub(super) fn read(object: &Object, report: &mut Report) -> Result<HostPart, Reported> {
    let spec = object.spec(report)?;
    let nics = nics(&spec, report);
    let Some(network) = spec.nmstate("config", report)? else {
        let message = "is missing: write the host's network there, as NMState";
        return Err(spec.wrong("config", "network-missing", message, report));
    };
    Ok(HostPart {
        name: Some((object.name.clone(), object.path().key("metadata").key("name"))),
        namespace: object.namespace.clone(),
        nics: nics?,
        network: Some(network.into()),
        ..HostPart::new(KIND, object.path().clone())
    })
}
