//! Proxies through which requests leave. reqwest takes them from the environment; its errors do not name them, it ignores those
//! that it cannot use, and in `NO_PROXY` it takes `*` for all names, but for no address.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::{ClientBuilder, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use crate::error_chain::chain;

/// How long a proxy may take to say why it refuses a connection.
const MAX_REFUSAL: Duration = Duration::from_secs(10);

/// What reqwest's errors say of a proxy that does not connect: it answers 407, or anything else but 200.
const UNAUTHORIZED: &str = "tunnel error: proxy authorization required";
const UNSUCCESSFUL: &str = "tunnel error: unsuccessful";

/// A proxy, and the variable that sets it.
pub(crate) struct ForwardProxy {
    proxy: Intercept,
    variable: &'static str,
}

/// Why a request fails at a proxy.
pub(crate) struct Refusal {
    pub(crate) why: String,
    /// Whether the proxy would refuse the next request, too.
    pub(crate) is_final: bool,
}

/// Returns the first of these variables that is set, as reqwest chooses.
fn first(names: [&'static str; 2]) -> Option<(&'static str, String)> {
    names.into_iter().find_map(|name| Some((name, std::env::var(name).ok()?)))
}

/// Begins a client that uses the environment's proxies.
pub(crate) fn client_builder() -> ClientBuilder {
    let builder = reqwest::Client::builder();
    if has_all(&exceptions()) { builder.no_proxy() } else { builder }
}

/// Returns the proxy that the environment sets for a URL. Fails if it is one that dayone cannot use.
pub(crate) fn of(url: &Url) -> Result<Option<ForwardProxy>, String> {
    // reqwest takes no proxies from the environment of a CGI program, in which a client can set HTTP_PROXY.
    if std::env::var_os("REQUEST_METHOD").is_some() {
        return Ok(None);
    }
    let names = if url.scheme() == "https" { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
    let set = [names, ["ALL_PROXY", "all_proxy"]].into_iter().filter_map(first).find(|(_, value)| !value.is_empty());
    let (Some((variable, value)), Ok(uri)) = (set, url.as_str().parse::<Uri>()) else { return Ok(None) };
    usable(variable, &value, &exceptions(), &uri)
}

/// Returns the hosts that no proxy is used for.
fn exceptions() -> String {
    first(["NO_PROXY", "no_proxy"]).map(|(_, hosts)| hosts).unwrap_or_default()
}

/// Whether these exceptions are all hosts.
fn has_all(exceptions: &str) -> bool {
    exceptions.split(',').any(|host| host.trim() == "*")
}

/// Returns the proxy that may have answered in place of the server of a URL. Over TLS, none can.
pub(crate) fn before(url: &Url) -> Option<ForwardProxy> {
    Some(url).filter(|url| url.scheme() == "http").and_then(|url| of(url).ok().flatten())
}

/// Names that proxy after the server.
pub(crate) fn through(url: &Url) -> String {
    before(url).map(|proxy| format!(" through {proxy}")).unwrap_or_default()
}

fn usable(variable: &'static str, value: &str, exceptions: &str, uri: &Uri) -> Result<Option<ForwardProxy>, String> {
    let intercept = |proxy: &str| Matcher::builder().all(proxy).no(exceptions).build().intercept(uri);
    if has_all(exceptions) || intercept("http://proxy").is_none() {
        return Ok(None);
    }
    // With one of these in a password, a part of it would count as the host or the port, and errors would show it.
    let address = value.split_once("://").map_or(value, |(_, address)| address);
    let is_escaped = address.rsplit_once('@').is_none_or(|(login, _)| !login.contains(['/', '?', '#', '@']));
    let has_place = |proxy: &Intercept| {
        proxy.uri().authority().is_some_and(|place| place.as_str() == place.host() || place.port_u16().is_some())
    };
    // The value may hold a password.
    let proxy = intercept(value).filter(|proxy| is_escaped && has_place(proxy)).ok_or_else(|| {
        format!(
            "{variable} is not the URL of a proxy: write http://USER:PASSWORD@HOST:PORT, and special characters of a password as \
             %XX"
        )
    })?;
    match proxy.uri().scheme_str() {
        Some("http" | "https") => Ok(Some(ForwardProxy { proxy, variable })),
        scheme => {
            let scheme = scheme.unwrap_or_default();
            Err(format!(
                "{variable} sets a proxy with {scheme}://, which dayone cannot use: set an HTTP proxy (http://HOST:PORT)"
            ))
        }
    }
}

/// Returns why a request failed at a proxy, if it failed there.
///
/// `reached` is where redirects have led, which the error does not have.
pub(crate) async fn refusal(error: &reqwest::Error, reached: Option<&Url>) -> Option<Refusal> {
    let url = reached.or_else(|| error.url()).filter(|_| error.is_connect())?;
    let proxy = match of(url) {
        Ok(proxy) => proxy?,
        Err(why) => return Some(Refusal { why, is_final: true }),
    };
    let text = chain(error.source()?);
    if text.contains(UNAUTHORIZED) {
        return Some(proxy.unauthorized());
    }
    if text.contains(UNSUCCESSFUL) {
        return Some(proxy.unsuccessful(url).await);
    }
    // Nothing tells a silent proxy from a silent server behind it.
    if error.is_timeout() && url.scheme() == "https" {
        return Some(Refusal { why: format!("{text}; the request goes through {proxy}"), is_final: false });
    }
    // After the proxy has connected, TLS with the other server fails without it.
    let is_at_proxy = url.scheme() == "http" || text.contains("tunnel error: ");
    is_at_proxy.then(|| Refusal { why: format!("{proxy}: {text}"), is_final: false })
}

impl ForwardProxy {
    /// The proxy answers 407.
    pub(crate) fn unauthorized(&self) -> Refusal {
        let why = format!(
            "{self} answers {}: give its user name and password in the variable (http://USER:PASSWORD@HOST:PORT)",
            StatusCode::PROXY_AUTHENTICATION_REQUIRED
        );
        Refusal { why, is_final: true }
    }

    /// The proxy does not connect to the host of a URL. Most statuses from 500 on say that the host does not answer at the moment.
    async fn unsuccessful(&self, url: &Url) -> Refusal {
        let host = url.host_str().unwrap_or_default();
        let target = format!("{host}:{}", url.port_or_known_default().unwrap_or_default());
        let status = tokio::time::timeout(MAX_REFUSAL, self.status(&target))
            .await
            .ok()
            .flatten()
            .filter(|status| !status.is_success());
        let told = status.map(|status| format!(": it answers {status}")).unwrap_or_default();
        Refusal {
            why: format!("{self} does not connect to {target}{told}"),
            is_final: status.is_some_and(|status| {
                status.is_client_error()
                    && !matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
            }),
        }
    }

    /// Asks once more for a connection: reqwest's error does not have the status. `None` if the proxy does not answer, or speaks TLS.
    async fn status(&self, target: &str) -> Option<StatusCode> {
        let uri = self.proxy.uri();
        let host = uri.host().filter(|_| uri.scheme_str() == Some("http"))?.trim_matches(['[', ']']);
        let credentials = self.proxy.basic_auth().and_then(|credentials| credentials.to_str().ok());
        let credentials = credentials.map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
        let mut stream = TcpStream::connect((host, uri.port_u16().unwrap_or(80))).await.ok()?;
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{credentials}\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut line = [0; "HTTP/1.1 403".len()];
        stream.read_exact(&mut line).await.ok()?;
        StatusCode::from_bytes(line.get("HTTP/1.1 ".len()..)?).ok()
    }
}

impl fmt::Display for ForwardProxy {
    /// Without the user name and the password, which are not in the URI.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = self.proxy.uri().to_string();
        write!(formatter, "the proxy {} ({})", uri.trim_end_matches('/'), self.variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_named_without_its_password_or_refused() {
        let of = |value: &str, exceptions: &str| {
            let uri = Uri::from_static("https://files.example/live.iso");
            usable("HTTPS_PROXY", value, exceptions, &uri).map(|proxy| proxy.map(|proxy| proxy.to_string()))
        };
        let named = "the proxy http://proxy.example:3128 (HTTPS_PROXY)";
        for value in ["http://user:hunter2@proxy.example:3128", "proxy.example:3128"] {
            assert_eq!(of(value, "").unwrap().as_deref(), Some(named), "{value}");
        }
        for value in [
            "http://user:hunter2 3@proxy.example:3128",
            "http://user:hunter2/3@proxy.example:3128",
            "http://user:hunter2#3@proxy.example:3128",
            "http://user:3@hunter2@proxy.example:3128",
            "http://user:hunter2",
            "socks5://user:hunter2@proxy.example:1080",
        ] {
            let refused = of(value, "").unwrap_err();
            assert!(refused.starts_with("HTTPS_PROXY ") && !refused.contains("hunter2"), "{refused}");
            assert_eq!(of(value, "other.example,files.example").unwrap(), None, "no proxy is used");
        }
    }

    #[test]
    fn a_star_excludes_addresses_too() {
        for uri in ["http://files.example/live.iso", "http://192.0.2.1/live.iso", "http://[2001:db8::1]/live.iso"] {
            let is_used = |exceptions| {
                let uri = Uri::from_static(uri);
                usable("HTTP_PROXY", "http://proxy.example:3128", exceptions, &uri).unwrap().is_some()
            };
            assert!(!is_used("*") && !is_used("localhost, *") && is_used("*.example.com,192.0.2.2"), "{uri}");
        }
    }
}
