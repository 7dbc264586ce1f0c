//! Examines the way to a file whose content is known: whether the answer comes from the server that it should come from.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::header::DATE;

use crate::certificate::Certificate;
use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Request, RequestError};

/// The largest difference between two clocks that does not matter: a `Date` has whole seconds, and its answer takes a moment.
const CLOCKS: Duration = Duration::from_secs(5);

/// How long before its end a certificate is worth a warning.
const SOON: Duration = Duration::from_hours(14 * 24);

/// Compares the file with its known content.
pub(crate) async fn identity(
    context: &Arc<Context>,
    expected: &[u8],
    findings: &mut Vec<Finding>,
) -> Result<(), RequestError> {
    let answer = context.connect().await?.send(&Request::get(), expected.len()).await?;
    let advice = "look which program listens there, and where a proxy or a port forwarding in between leads; after a restart of \
                  the server, run this again";
    if !answer.is_success() {
        let message = format!("the answer is {}, and this server would answer 200", answer.status.as_u16());
        findings.push(Finding::fails("another-server", &[Reader::Everyone], message).seen(&answer).advice(advice));
    } else if !answer.body.starts_with(expected.get(..SAMPLE).unwrap_or(expected)) {
        let message = "another server answers at this URL: the file is not the one of the server that was asked";
        findings.push(Finding::fails("another-server", &[Reader::Everyone], message).seen(&answer).advice(advice));
    } else if answer.body != expected {
        let same = answer.body.iter().zip(expected).take_while(|(one, other)| one == other).count();
        let message = format!("this server answers, but something in between changes the file from offset {same} on");
        let advice =
            "configure the proxy to pass the bytes unchanged: no compression, no rewriting, no limit of the size";
        findings.push(Finding::fails("content-changed", &[Reader::Everyone], message).seen(&answer).advice(advice));
    }
    Ok(())
}

/// How many bytes at the beginning tell servers apart.
const SAMPLE: usize = 64;

/// Compares the server's clock with that of this machine.
pub(crate) async fn clock(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let answer = context.connect().await?.send(&Request::head(), 0).await?;
    let now = SystemTime::now();
    let Ok(date) = httpdate::parse_http_date(answer.header(&DATE)) else {
        let message = "the answer has no Date, so the clock behind the URL is unknown";
        findings.push(Finding::unknown("clock-unknown", message).seen(&answer));
        return Ok(());
    };
    let skew = now.duration_since(date).unwrap_or_else(|before| before.duration());
    if skew > CLOCKS {
        let message = format!("the clock behind the URL and that of this machine differ by {} s", skew.as_secs());
        let advice = "set both clocks by NTP: certificates and conditional requests depend on them";
        findings.push(Finding::warning("clock-skew", &[Reader::Verifying], message).seen(&answer).advice(advice));
    }
    Ok(())
}

/// Looks when the server's certificate expires.
pub(crate) async fn certificate(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let connection = context.connect().await?;
    let Some(der) = connection.certificate().cloned() else { return Ok(()) };
    match Certificate::new(der) {
        Err(error) => findings.push(Finding::unknown("certificate-unknown", error.to_string())),
        Ok(certificate) => {
            let left = certificate.not_after.duration_since(SystemTime::now());
            if let Ok(left) = left.as_ref().map(Duration::as_secs)
                && left < SOON.as_secs()
            {
                let message = format!("the certificate expires in {} days", left / 86400);
                findings.push(
                    Finding::warning("certificate-expires", &[Reader::Verifying], message)
                        .advice("renew it; dayone takes over a changed file by itself"),
                );
            }
        }
    }
    Ok(())
}
