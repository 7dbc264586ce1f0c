//! Small HTTP clients: HTTP/1.0, without a `Host` header, or with one that lacks the port.

use std::sync::Arc;

use http::Version;

use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Request, RequestError};

const AFFECTS: [Reader; 1] = [Reader::SomeFirmware];

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let plain = context.send(&Request::head()).await?;
    let old = Request::head().version(Version::HTTP_10);
    let host = context.connector.url().host_str().unwrap_or_default().to_owned();
    let mut variations = vec![
        ("http-1-0", "the server answers HTTP/1.0 differently from HTTP/1.1", old.clone()),
        ("http-1-0-without-host", "the server answers HTTP/1.0 without a Host header differently", old.host("")),
    ];
    if context.connector.url().port().is_some() {
        let message = "the server answers a Host header without the port differently";
        variations.push(("host-without-port", message, Request::head().host(&host)));
    }
    for (code, message, request) in variations {
        let advice = "configure the server to answer with any Host header: small clients do not support virtual hosts";
        let finding = match context.send(&request).await {
            Ok(answer) if answer.status == plain.status && answer.length() == plain.length() => continue,
            Ok(answer) => {
                let message = format!("{message} ({})", answer.status.as_u16());
                Finding::warning(code, &AFFECTS, message).seen(&answer)
            }
            Err(error) => Finding::warning(code, &AFFECTS, format!("{message}: {error}")),
        };
        findings.push(finding.advice(advice));
    }
    Ok(())
}
