//! Examines every address of the server's name: the other examinations read from the first one that answers, and a BMC may read
//! from another one.

use std::net::SocketAddr;
use std::sync::Arc;

use http::StatusCode;

use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::first_look::size;
use crate::http::{Connector, Request, RequestError, SMALL_BODY};
use crate::probe;

const ADVICE: &str =
    "make all addresses of the name lead to the same file, or use the address of one server in the URL";

/// What one address serves.
#[derive(PartialEq, Eq)]
struct Served {
    status: StatusCode,
    size: Option<u64>,
    beginning: Vec<u8>,
}

/// Reads the file from each of several addresses. With the expected content, compares it with that.
pub(crate) async fn examine(
    context: &Arc<Context>,
    addresses: &[SocketAddr],
    expected: Option<&[u8]>,
    findings: &mut Vec<Finding>,
) {
    let mut served: Vec<(SocketAddr, Served)> = Vec::new();
    for &address in addresses {
        let connector = Arc::new(context.connector.at(address));
        let found = match expected {
            Some(expected) => {
                let alone = Arc::new(Context::new(connector, context.size, context.slow));
                let mut found = Vec::new();
                let compared = probe::identity(&alone, expected, &mut found).await;
                findings.extend(found.into_iter().map(|finding| finding.at(address)));
                compared
            }
            None => look(&connector).await.map(|found| served.push((address, found))),
        };
        if let Err(error) = found {
            let message = format!(
                "{address}, one of the {} addresses of the server's name, does not answer: {error}",
                addresses.len()
            );
            let finding = Finding::warning("address-not-reachable", &[Reader::SomeFirmware], message);
            findings.push(finding.advice("remove the address from the DNS, or make the server answer there"));
        }
    }
    if served.windows(2).any(|pair| matches!(pair, [(_, one), (_, other)] if one != other)) {
        let each = served.iter().map(|(address, served)| format!("{address} {}", served.shown()));
        let each: Vec<String> = each.collect();
        let message = format!("the addresses of the name do not serve the same file: {}", each.join(", "));
        findings.push(Finding::fails("addresses-differ", &[Reader::Everyone], message).advice(ADVICE));
    }
}

impl Served {
    fn shown(&self) -> String {
        let size = self.size.map_or_else(|| "an unknown size".to_owned(), |size| format!("{size} bytes"));
        format!("answers {} with {size}", self.status.as_u16())
    }
}

async fn look(connector: &Connector) -> Result<Served, RequestError> {
    let answer = connector.connect().await?.send(&Request::range(&(0..SMALL_BODY as u64)), SMALL_BODY).await?;
    // Pages about errors may have the time in them.
    let beginning =
        if answer.is_success() { answer.body.iter().take(SMALL_BODY).copied().collect() } else { Vec::new() };
    let size = size(&answer).filter(|_| answer.is_success());
    Ok(Served { status: answer.status, size, beginning })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpSocket};
    use url::Url;

    use super::*;

    /// A server that answers every request with this text.
    async fn serve(body: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        address
    }

    #[tokio::test]
    async fn an_address_that_is_dead_or_serves_something_else_is_found() {
        let (one, same, other) = (serve("abc").await, serve("abc").await, serve("abd").await);
        // Bound without listening, the port goes to no other test.
        let bound = TcpSocket::new_v4().unwrap();
        bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let dead = bound.local_addr().unwrap();
        let url = Url::parse("http://dayone.example/i/boot.iso").unwrap();
        let connector = Arc::new(Connector::new(url, Arc::default(), Arc::default()));
        let context = Arc::new(Context::new(connector, Some(3), Duration::ZERO));
        for (addresses, expected, codes) in [
            ([one, same], None, &[][..]),
            ([one, other], None, &["addresses-differ"]),
            ([dead, one], None, &["address-not-reachable"]),
            ([one, same], Some("abc"), &[]),
            ([one, other], Some("abc"), &["another-server"]),
            ([one, dead], Some("abc"), &["address-not-reachable"]),
        ] {
            let mut findings = Vec::new();
            examine(&context, &addresses, expected.map(str::as_bytes), &mut findings).await;
            let found: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
            assert_eq!(found, codes, "{addresses:?} {expected:?}: {findings:?}");
            let bad = if addresses.contains(&dead) { dead } else { other };
            assert!(findings.iter().all(|finding| finding.message.contains(&bad.to_string())), "{findings:?}");
        }
    }
}
