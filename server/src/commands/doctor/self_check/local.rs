//! Asks the server at its own address, without anything in between.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use media::{PROBE_FILE, PROBE_TOKEN, probe_content};
use redfish::{Verification, client_config};
use reqwest::StatusCode;
use reqwest::redirect::Policy;

use super::super::super::failure::Failure;
use crate::error_chain::chain;

/// How long an answer may take, also through the media URL.
const LIMIT: Duration = Duration::from_secs(10);

/// The beginning of the probe's content.
const BEGINNING: &str = "dayone probe\ninstance: ";

/// The maximum length of content that can be a probe, in bytes.
const MAX_PROBE_BYTES: usize = 1 << 20;

/// What listens at the address of the images.
pub(super) enum Local {
    /// A dayone.
    Runs {
        /// The content of its probe.
        content: Vec<u8>,
        /// Whether it answers the doctor's call. Earlier versions do not.
        answers_calls: bool,
    },
    /// Nobody accepts connections.
    Nobody,
    /// Something else, or a server that does not answer.
    Other { what: String },
}

/// Asks the server that listens on `address` for its probe.
pub(super) async fn ask(address: SocketAddr, tls: bool) -> Result<Local, Failure> {
    let client = client()?;
    for address in reached(address) {
        match ask_at(&client, address, tls).await {
            Local::Nobody => {}
            found => return Ok(found),
        }
    }
    Ok(Local::Nobody)
}

/// Calls in place of a host. Returns why the call is lost, if it is.
pub(super) async fn call(url: &str) -> Result<Option<String>, Failure> {
    Ok(call_with(&client()?, url).await.err())
}

/// A client like a host that calls home: it uses no proxy, follows no redirect, and verifies no certificate. The answers are public,
/// and nothing secret is sent.
fn client() -> Result<reqwest::Client, Failure> {
    let config =
        client_config(&Verification::Disabled).map_err(|error| Failure::system("cannot make a client", &error))?;
    reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .timeout(LIMIT)
        .tls_backend_preconfigured(config)
        .build()
        .map_err(|error| Failure::system("cannot make a client", &error))
}

async fn call_with(client: &reqwest::Client, url: &str) -> Result<(), String> {
    match client.get(url).send().await {
        Ok(answer) if answer.status() == StatusCode::NO_CONTENT => Ok(()),
        Ok(answer) => Err(format!("the answer is {} in place of 204", answer.status().as_u16())),
        Err(error) => Err(chain(&error)),
    }
}

async fn ask_at(client: &reqwest::Client, address: SocketAddr, tls: bool) -> Local {
    let scheme = if tls { "https" } else { "http" };
    let url = format!("{scheme}://{address}/i/{PROBE_TOKEN}/{PROBE_FILE}");
    let mut answer = match client.get(url).send().await {
        Ok(answer) => answer,
        Err(error) if error.is_connect() && is_closed(address).await => return Local::Nobody,
        Err(error) => return Local::Other { what: chain(&error) },
    };
    if !answer.status().is_success() {
        return Local::Other { what: format!("it answers {} for dayone's probe", answer.status().as_u16()) };
    }
    let mut content = Vec::new();
    while let Ok(Some(bytes)) = answer.chunk().await {
        content.extend_from_slice(&bytes);
        if content.len() > MAX_PROBE_BYTES {
            break;
        }
    }
    match instance(&content) {
        Some(instance) if content == probe_content(instance) => {
            let answers_calls = call_with(client, &format!("{scheme}://{address}/h/{PROBE_TOKEN}")).await.is_ok();
            Local::Runs { content, answers_calls }
        }
        _ => Local::Other { what: "its answer is not dayone's probe".to_owned() },
    }
}

/// Whether nobody listens there.
async fn is_closed(address: SocketAddr) -> bool {
    use std::io::ErrorKind::{AddrNotAvailable, ConnectionRefused, NetworkUnreachable};
    let connected = tokio::time::timeout(LIMIT, tokio::net::TcpStream::connect(address)).await;
    let nobody = [ConnectionRefused, AddrNotAvailable, NetworkUnreachable];
    matches!(connected, Ok(Err(error)) if nobody.contains(&error.kind()))
}

/// The addresses under which this machine reaches a listener. One on all addresses may have only one family.
fn reached(address: SocketAddr) -> Vec<SocketAddr> {
    let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    if !address.ip().is_unspecified() {
        return vec![address];
    }
    let families = if address.is_ipv4() { 1 } else { 2 };
    loopback.into_iter().take(families).map(|ip| (ip, address.port()).into()).collect()
}

/// The name of the instance in a probe.
fn instance(content: &[u8]) -> Option<&str> {
    let rest = content.strip_prefix(BEGINNING.as_bytes())?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    str::from_utf8(rest.get(..end)?).ok()
}
