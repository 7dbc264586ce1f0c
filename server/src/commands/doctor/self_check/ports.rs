//! The ports of the server: whether it listens, or somebody else does.

use std::net::SocketAddr;

use doctor::{Examination, Finding, Severity};

use super::Site;
use super::listener;
use super::local::Local;

/// Examines both ports.
pub(super) fn examine(site: &Site, local: &Local) -> Examination {
    let mut findings = Vec::new();
    let runs = match local {
        Local::Runs { .. } => true,
        Local::Nobody => false,
        Local::Other { what } => {
            findings.push(taken("the images", site.media, Some(what)));
            false
        }
    };
    if !runs && matches!(local, Local::Nobody) {
        findings.extend(bindable("the images", site.media));
    }
    match (runs, listener::find(site.api)) {
        (_, Err(error)) => {
            let message = format!("/proc does not show who listens: {error}");
            findings.push(Finding::local(Severity::Unknown, "ports-unknown", message));
        }
        (true, Ok(None)) => {
            let message = format!("the images are served, but nobody listens on {} for the API", site.api);
            findings.push(
                Finding::local(Severity::Fails, "api-not-there", message)
                    .advice("was the server started with these settings? Restart it after a change of api-listen"),
            );
        }
        (true, Ok(Some(api))) => findings.extend(other_process(site, &api)),
        (false, Ok(Some(_))) => findings.push(taken("the API", site.api, None)),
        (false, Ok(None)) => findings.extend(bindable("the API", site.api)),
    }
    if matches!(local, Local::Nobody) {
        let message = format!("no server listens on {}", site.media);
        findings.push(
            Finding::local(Severity::Fails, "not-running", message)
                .advice("start it: dayone serve --config FILE, or systemctl start dayone"),
        );
    }
    Examination::new("ports", "ports of the server", findings)
}

/// Somebody else has the port.
fn taken(plane: &str, address: SocketAddr, what: Option<&str>) -> Finding {
    let who = match listener::find(address) {
        Ok(Some(listener)) => listener.shown(),
        Ok(None) | Err(_) => "an unknown process".to_owned(),
    };
    let what = what.map(|what| format!(": {what}")).unwrap_or_default();
    let message = format!("{who} listens on {address}, which is the address of {plane}{what}");
    Finding::local(Severity::Fails, "port-taken", message)
        .advice("stop that program, or set another address (media-listen, api-listen)")
}

/// The API's port belongs to another process than that of the images.
fn other_process(site: &Site, api: &listener::Listener) -> Option<Finding> {
    let id = |listener: &listener::Listener| listener.process.as_ref().map(procfs::process::Process::pid);
    let media = listener::find(site.media).ok().flatten()?;
    match (id(api), id(&media)) {
        (Some(api_id), Some(media_id)) if api_id != media_id => Some(taken("the API", site.api, None)),
        (Some(_), Some(_)) => None,
        _ => {
            let message =
                format!("this user may not see whether the server itself listens on {} for the API", site.api);
            let finding = Finding::local(Severity::Unknown, "api-owner-unknown", message);
            Some(finding.advice("run this as root, or as the user of the server"))
        }
    }
}

/// Why a free port cannot be used.
fn bindable(plane: &str, address: SocketAddr) -> Option<Finding> {
    let error = media::listen::listening_socket(address).err()?;
    if error.kind() == std::io::ErrorKind::AddrInUse {
        return Some(taken(plane, address, None));
    }
    let message = format!("this user cannot listen on {address} for {plane}: {error}");
    let advice = match error.kind() {
        std::io::ErrorKind::PermissionDenied => "ports below 1024 need CAP_NET_BIND_SERVICE; use a higher one",
        _ => "is the address one of this machine's? (ip address)",
    };
    Some(Finding::local(Severity::Fails, "cannot-listen", message).advice(advice))
}
