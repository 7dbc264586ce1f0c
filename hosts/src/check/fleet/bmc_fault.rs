//! Finds the addresses of BMCs that no boot accepts.
//!
//! As for [`super::bmc_url`], a test of the server (`boots/bmc_key.rs`) compares this with what boots refuse.

use url::Url;

use super::bmc_url::{authority, host_fault, is_of_another_protocol, redfish_transport, split, system};

/// Maximum length of an address, in bytes.
const MAX_LENGTH: usize = 1024;

/// Why boots refuse the address of a BMC, as the end of a sentence. `None` if they accept it. Of an address for another protocol, which
/// Metal3 may use, only the host counts. Never quotes a part that may contain a password.
pub(super) fn fault(text: &str) -> Option<String> {
    let text = text.trim();
    let (scheme, rest) = split(text);
    let (scheme, is_other) = (scheme.as_deref(), scheme.as_deref().is_some_and(is_of_another_protocol));
    if text.is_empty() {
        return Some("is empty".to_owned());
    }
    if text.len() > MAX_LENGTH {
        return Some(format!("is longer than {MAX_LENGTH} bytes"));
    }
    if rest.contains('@') {
        return Some("has a user name or a password before an '@', which belong to the credentials".to_owned());
    }
    let Some(transport) = redfish_transport(scheme).or(is_other.then_some("http")) else {
        return Some("has a scheme that neither dayone nor Metal3 knows".to_owned());
    };
    let (place, path) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
    if !is_other && path.contains(['?', '#']) {
        return Some("contains '?' or '#'".to_owned());
    }
    if place.is_empty() {
        return Some("has no host".to_owned());
    }
    let url = match Url::parse(&format!("{transport}://{place}{path}")) {
        Ok(url) => url,
        Err(error) => return Some(format!("has no valid host: {error}")),
    };
    if let Some(fault) = host_fault(authority(rest).0, &url) {
        return Some(fault);
    }
    if is_other {
        return None;
    }
    if url.port() == Some(623) {
        return Some("has the port of IPMI (623); leave the port out, because Redfish uses 443".to_owned());
    }
    let is_below_redfish = |path: &str| {
        path.strip_prefix("/redfish/").is_some_and(|rest| rest.split('/').all(|segment| !segment.is_empty()))
    };
    system(url.path())
        .filter(|path| !is_below_redfish(path))
        .map(|path| format!("has the path {path:?}, which is not that of a System, such as /redfish/v1/Systems/1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metal3s_other_protocols_are_left_to_metal3() {
        for fine in
            ["ipmi://192.0.2.9", "ipmi:192.0.2.9:6230", "libvirt://192.0.2.9:6233/?x=y", "idrac+http://bmc.example"]
        {
            assert_eq!(fault(fine), None, "{fine}");
        }
        for (wrong, says) in [
            ("ipmi://192.0.2.300", "no valid host"),
            ("ipmi://192.0.2.010", "read as 192.0.2.8"),
            ("ipmi://root:calvin@192.0.2.9", "'@'"),
            ("ipmi+ssh://192.0.2.9", "scheme"),
        ] {
            let fault = fault(wrong).expect(wrong);
            assert!(fault.contains(says) && !fault.contains("calvin"), "{wrong}: {fault}");
        }
    }
}
