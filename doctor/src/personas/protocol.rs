//! Small HTTP clients: HTTP/1.0, without a `Host` header, or with one that lacks the port.

use http::Version;

use crate::finding::{Finding, Reader};
use crate::http::{Ask, Trouble};
use crate::lab::Lab;

const AFFECTS: [Reader; 1] = [Reader::SomeFirmware];

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let plain = lab.ask(&Ask::head()).await?;
    let old = Ask::head().version(Version::HTTP_10);
    let host = lab.connector.url().host_str().unwrap_or_default().to_owned();
    let mut variations = vec![
        ("http-1-0", "HTTP/1.0 is answered in another way than HTTP/1.1", old.clone()),
        ("http-1-0-without-host", "HTTP/1.0 without a Host header is answered in another way", old.host("")),
    ];
    if lab.connector.url().port().is_some() {
        let message = "a Host header without the port is answered in another way";
        variations.push(("host-without-port", message, Ask::head().host(&host)));
    }
    for (code, message, ask) in variations {
        let advice =
            "let this server answer whatever the Host header says; virtual hosts are what small clients get wrong";
        let finding = match lab.ask(&ask).await {
            Ok(answer) if answer.status == plain.status && answer.length() == plain.length() => continue,
            Ok(answer) => {
                let message = format!("{message} ({})", answer.status.as_u16());
                Finding::warning(code, &AFFECTS, message).seen(&answer)
            }
            Err(trouble) => Finding::warning(code, &AFFECTS, format!("{message}: {trouble}")),
        };
        findings.push(finding.advice(advice));
    }
    Ok(())
}
