//! The URLs for the agent and its system.
//!
//! This module changes them as text: a parsed `Url` drops the default port of its scheme, which is not Ironic's default port.

use url::Url;

use super::AgentError;

/// Completes the list `urls`: adds `port` to items without a port, and `path` to items whose path does not end with it. Like
/// upstream, it skips items that are empty or not URLs. It is an error if no item is left.
pub(super) fn list(setting: &'static str, urls: &str, port: u16, path: &str) -> Result<String, AgentError> {
    let items: Vec<&str> = urls.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    let good: Vec<String> = items.iter().filter_map(|item| completed(item, port, path)).collect();
    if good.is_empty() && !items.is_empty() { Err(AgentError::Urls(setting)) } else { Ok(good.join(",")) }
}

fn completed(url: &str, port: u16, path: &str) -> Option<String> {
    let parts = Parts::of(url)?;
    let host = parts.authority.rsplit_once('@').map_or(parts.authority, |(_, host)| host);
    let has_port = host.rsplit_once(']').map_or(host, |(_, behind)| behind).contains(':');
    let port = if has_port { String::new() } else { format!(":{port}") };
    let path = if parts.path.ends_with(path) { "" } else { path };
    let before = if path.is_empty() { parts.path } else { parts.path.trim_end_matches('/') };
    Some(format!("{}://{}{port}{before}{path}{}", parts.scheme, parts.authority, parts.query))
}

/// The URL of the root file system for a stream and an architecture: inserts `-<stream>` and `_<architecture>` before the
/// extension of the file in the template. Returns a template that is not the URL of a file unchanged.
pub fn rootfs_url(template: &str, stream: Option<&str>, architecture: Option<&str>) -> String {
    let Some((parts, (directory, file))) =
        Parts::of(template).and_then(|parts| Some((parts, parts.path.rsplit_once('/')?)))
    else {
        return template.to_owned();
    };
    let (stem, extension) = file.split_at(file.rfind('.').unwrap_or(file.len()));
    let stream = stream.map(|stream| format!("-{stream}")).unwrap_or_default();
    let architecture = architecture.map(|architecture| format!("_{architecture}")).unwrap_or_default();
    let Parts { scheme, authority, query, .. } = parts;
    format!("{scheme}://{authority}{directory}/{stem}{stream}{architecture}{extension}{query}")
}

/// A URL with a host, in pieces.
#[derive(Clone, Copy)]
struct Parts<'u> {
    scheme: &'u str,
    authority: &'u str,
    path: &'u str,
    /// Query and fragment.
    query: &'u str,
}

impl<'u> Parts<'u> {
    fn of(url: &'u str) -> Option<Self> {
        // `Url` would accept these characters and correct them, but the text would still have them.
        let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '\\';
        let parsed = Url::parse(url).ok().filter(|_| url.chars().all(plain))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return None;
        }
        let (scheme, rest) = url.split_once("://")?;
        let (rest, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let authority = authority.trim_end_matches(':');
        (!authority.is_empty()).then_some(Self { scheme, authority, path, query })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_get_the_ports_and_paths_that_they_lack() {
        for (given, wanted) in [
            ("", ""),
            (" , ", ""),
            ("http://192.0.2.1", "http://192.0.2.1:6385"),
            ("http://192.0.2.1:42", "http://192.0.2.1:42"),
            ("https://[2001:db8::1]", "https://[2001:db8::1]:6385"),
            ("https://[2001:db8::1]:42", "https://[2001:db8::1]:42"),
            ("http://192.0.2.1,https://[2001:db8::1]", "http://192.0.2.1:6385,https://[2001:db8::1]:6385"),
            ("http://192.0.2.1:42,https://[2001:db8::1]:43", "http://192.0.2.1:42,https://[2001:db8::1]:43"),
            // The default port of the scheme is a port.
            ("https://ironic.example.com:443/", "https://ironic.example.com:443/"),
            ("http://u:p@a/b?c#d,, http://b: ,", "http://u:p@a:6385/b?c#d,http://b:6385"),
            ("http://a,nothing,http://[::1,ftp://b,http://a b,http://c\\d", "http://a:6385"),
        ] {
            assert_eq!(list("X", given, 6385, ""), Ok(wanted.to_owned()), "{given}");
        }
        for (given, wanted) in [
            ("http://a", "http://a:5050/v1/continue"),
            ("http://a/", "http://a:5050/v1/continue"),
            ("http://a/v1/continue", "http://a:5050/v1/continue"),
            ("http://a:80/b?c", "http://a:80/b/v1/continue?c"),
        ] {
            assert_eq!(list("X", given, 5050, "/v1/continue"), Ok(wanted.to_owned()), "{given}");
        }
    }

    #[test]
    fn the_root_file_systems_url_is_that_of_stream_and_architecture() {
        let url = "http://192.0.2.1:6180/images/ironic-python-agent.rootfs";
        for (stream, architecture, wanted) in [
            (None, None, "http://192.0.2.1:6180/images/ironic-python-agent.rootfs"),
            (Some("rhel-10"), None, "http://192.0.2.1:6180/images/ironic-python-agent-rhel-10.rootfs"),
            (None, Some("aarch64"), "http://192.0.2.1:6180/images/ironic-python-agent_aarch64.rootfs"),
            (
                Some("rhel-10"),
                Some("aarch64"),
                "http://192.0.2.1:6180/images/ironic-python-agent-rhel-10_aarch64.rootfs",
            ),
        ] {
            assert_eq!(rootfs_url(url, stream, architecture), wanted);
        }
        for (template, wanted) in [
            ("https://a:443/v1.2/rootfs?x=1.2/3#y", "https://a:443/v1.2/rootfs-s_a?x=1.2/3#y"),
            ("https://a/b.c.img", "https://a/b.c-s_a.img"),
            ("http://a.example.com", "http://a.example.com"),
            ("http://[::1/bad.rootfs", "http://[::1/bad.rootfs"),
            ("://bad.rootfs", "://bad.rootfs"),
            ("", ""),
        ] {
            assert_eq!(rootfs_url(template, Some("s"), Some("a")), wanted);
        }
    }
}
