//! Explains why a connection to a dayone server is of no use: TLS fails, or the server does not speak what `--server` says.

use redfish::{Peer, distrust, tls_error};
use rustls::{AlertDescription, Error};
use url::Url;

use crate::error_chain::chain;

const SERVER: Peer = Peer {
    name: "server",
    usual: "",
    trust: "give the server's certificate, or that of the authority that signed it, with --server-ca",
    unverified: "",
};

/// hyper's error if the answer is not HTTP, as that of a port with TLS is. It has other errors for parts of an HTTP answer.
const NOT_HTTP: &str = "invalid HTTP version parsed";
/// How hyper's error ends if the server has closed a new connection before the request. The server's alert may then be lost.
const CLOSED: &str = "connection was not ready";

/// Returns why no request to `server` succeeds, if the error says that. The server has begun nothing.
pub(super) fn explain(error: &reqwest::Error, server: &Url) -> Option<String> {
    if server.scheme() == "http" {
        let why = "the server, or the proxy on the way, does not speak plain HTTP on this port: if it uses TLS there, write https:// \
                   in --server";
        return chain(error).contains(NOT_HTTP).then(|| why.to_owned());
    }
    let Some(error) = tls_error(error) else {
        let why = "the server closed the connection before the request; perhaps it requires a client certificate: give one with \
                   --client-cert";
        return chain(error).contains(CLOSED).then(|| why.to_owned());
    };
    let why = match error {
        Error::InvalidCertificate(error) => {
            return Some(format!("the server is not trusted: {}", distrust(error, &SERVER)));
        }
        Error::InvalidMessage(_) => {
            "the server does not use TLS on this port: if it uses plain HTTP there, write http:// in --server"
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server requires a client certificate: give one with --client-cert"
        }
        _ => return None,
    };
    Some(why.to_owned())
}
