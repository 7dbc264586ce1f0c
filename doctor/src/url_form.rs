//! Examines the URL itself. Firmware is stricter than any standard.

use std::net::{IpAddr, Ipv4Addr};

use url::{Host, Url};

use super::finding::{Finding, Reader};

/// Maximum length of a URL in characters, which several vendors demand.
const MAX_URL: usize = 255;

/// The form of dayone's own URLs.
const PLAIN: &str = "use a path of lower-case letters and digits that is one directory deep and ends in .iso or .img";

/// Examines a URL as it was written.
pub(super) fn examine(text: &str, url: &Url) -> Vec<Finding> {
    let mut findings = Vec::new();
    scheme(text, url, &mut findings);
    length(text, &mut findings);
    parts(text, url, &mut findings);
    path(url, &mut findings);
    host(url, &mut findings);
    findings
}

fn scheme(text: &str, url: &Url, findings: &mut Vec<Finding>) {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        let message =
            "the URL does not begin with http:// or https:// in lower case, by which BMCs choose their protocol";
        findings.push(
            Finding::fails("url-scheme", &[Reader::SomeFirmware], message).advice("write the scheme in lower case"),
        );
    }
    if url.scheme() == "http" {
        let message = "the URL has plain HTTP, which bmcweb and openUBMC do not accept";
        let affects = [Reader::OpenBmc, Reader::OpenUbmc];
        findings.push(
            Finding::warning("plain-http", &affects, message).advice("for these BMCs, serve the file over HTTPS"),
        );
    }
}

fn length(text: &str, findings: &mut Vec<Finding>) {
    let length = text.chars().count();
    if length > MAX_URL {
        let message = format!("the URL has {length} characters, but some BMCs accept at most {MAX_URL}");
        let affects = [Reader::Idrac, Reader::SomeFirmware];
        findings.push(Finding::fails("url-too-long", &affects, message).advice("use a shorter URL"));
    }
}

fn parts(text: &str, url: &Url, findings: &mut Vec<Finding>) {
    if url.query().is_some() {
        let message = "the URL has a query ('?')";
        let affects = [Reader::Supermicro, Reader::SomeFirmware];
        findings.push(Finding::fails("url-query", &affects, message).advice(PLAIN));
    }
    if text.contains('=') {
        let message = "the URL has an equals sign";
        findings.push(Finding::fails("url-equals-sign", &[Reader::Supermicro], message).advice(PLAIN));
    }
    if url.fragment().is_some() {
        let message = "the URL has a fragment ('#'), which some clients send to the server and others leave out";
        findings.push(Finding::fails("url-fragment", &[Reader::SomeFirmware], message).advice(PLAIN));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let message = "the URL contains credentials: not every BMC accepts them there, and they appear in logs";
        let advice = "pass them as UserName and Password of InsertMedia, or use a URL that nobody can guess";
        findings.push(Finding::warning("url-credentials", &[Reader::SomeFirmware], message).advice(advice));
    }
}

fn path(url: &Url, findings: &mut Vec<Finding>) {
    let (directory, name) = url.path().rsplit_once('/').unwrap_or(("", url.path()));
    if !matches!(name.rsplit_once('.'), Some((_, "iso" | "img"))) {
        let message = "the file name does not end in .iso, or .img for a disk, in lower case";
        let affects = [Reader::Idrac, Reader::SomeFirmware];
        findings.push(Finding::fails("url-suffix", &affects, message).advice(PLAIN));
    }
    if directory.trim_matches('/').is_empty() {
        let message = "the file is not in a directory";
        findings.push(Finding::fails("url-not-in-a-directory", &[Reader::Supermicro], message).advice(PLAIN));
    }
    if name.contains('-') {
        let message = "the file name has a hyphen, which some versions of OpenBMC refuse";
        findings.push(Finding::fails("url-hyphen", &[Reader::Quanta], message).advice(PLAIN));
    }
    let usual = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-' | b'=' | b'~');
    if !url.path().bytes().all(usual) || url.path().contains("//") {
        let message = "the path has characters that some firmware refuses or encodes differently";
        findings.push(Finding::warning("url-characters", &[Reader::SomeFirmware], message).advice(PLAIN));
    }
}

fn host(url: &Url, findings: &mut Vec<Finding>) {
    let address = match url.host() {
        None => return,
        Some(Host::Domain(name)) if is_localhost(name) => Ipv4Addr::LOCALHOST.into(),
        Some(Host::Domain(_)) => {
            let message = "the URL has a host name, but networks of BMCs often have no DNS";
            let advice = "use an IP address, unless you know that the BMCs can resolve the name";
            findings.push(Finding::warning("url-names-a-host", &[Reader::SomeFirmware], message).advice(advice));
            return;
        }
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => IpAddr::from(address),
    };
    let address = address.to_canonical();
    let problem = if address.is_loopback() {
        "the URL has a loopback address, which BMCs cannot reach"
    } else if address.is_unspecified() {
        "the URL has the address that a server listens on, not one that BMCs can connect to"
    } else {
        ""
    };
    if !problem.is_empty() {
        let advice = "use this machine's address on the BMCs' network";
        findings.push(Finding::warning("url-loopback", &[Reader::Everyone], problem).advice(advice));
    }
}

/// Whether a name always means the machine that resolves it (RFC 6761 §6.3).
fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<&'static str> {
        examine(text, &text.parse().unwrap()).iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn each_rule_has_its_code() {
        let long = format!("https://192.0.2.1/i/{}/boot.iso", "x".repeat(240));
        for (url, expected) in [
            ("https://192.0.2.1/i/abc/boot.iso", &[][..]),
            ("https://[2001:db8::1]:8443/i/abc/boot.img", &[]),
            ("http://192.0.2.1/i/boot.iso", &["plain-http"]),
            ("HTTPS://192.0.2.1/i/boot.iso", &["url-scheme"]),
            (&long, &["url-too-long"]),
            ("https://192.0.2.1/i/boot.iso?a", &["url-query"]),
            ("https://192.0.2.1/i=1/boot.iso", &["url-equals-sign"]),
            ("https://192.0.2.1/i/boot.iso#x", &["url-fragment"]),
            ("https://u:p@192.0.2.1/i/boot.iso", &["url-credentials"]),
            ("https://192.0.2.1/i/boot", &["url-suffix"]),
            ("https://192.0.2.1/i/boot.ISO", &["url-suffix"]),
            ("https://192.0.2.1/boot.iso", &["url-not-in-a-directory"]),
            ("https://192.0.2.1/a-b/boot-1.iso", &["url-hyphen"]),
            ("https://192.0.2.1/i/bo%20ot.iso", &["url-characters"]),
            ("https://192.0.2.1/i//boot.iso", &["url-characters"]),
            ("https://boot.example.com/i/boot.iso", &["url-names-a-host"]),
            ("https://[::1]/i/boot.iso", &["url-loopback"]),
            ("https://localhost/i/boot.iso", &["url-loopback"]),
            ("https://dayone.localhost./i/boot.iso", &["url-loopback"]),
            ("https://localhost.example.com/i/boot.iso", &["url-names-a-host"]),
            ("https://0.0.0.0/i/boot.iso", &["url-loopback"]),
            ("https://[::]/i/boot.iso", &["url-loopback"]),
            ("https://[::ffff:0.0.0.0]/i/boot.iso", &["url-loopback"]),
            ("https://169.254.1.1/i/boot.iso", &[]),
        ] {
            assert_eq!(codes(url), expected, "{url}");
        }
    }
}
