//! TLS as EDK2's firmware speaks it: its own first message, and what the server makes of it. rustls has none of its suites.

use crate::finding::{Finding, Reader};
use crate::http::{Connector, RequestError};

/// The `ClientHello` of OVMF 2022.11 for HTTP boot, as it was recorded, with another random. TLS 1.2, and all suites exchange keys by
/// RSA or by DHE with RSA.
const CLIENT_HELLO: [u8; 116] = [
    0x16, 0x03, 0x01, 0x00, 0x6f, 0x01, 0x00, 0x00, 0x6b, 0x03, 0x03, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
    0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a,
    0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x00, 0x00, 0x1a, 0x00, 0x9f, 0x00, 0x9e, 0x00, 0x6b, 0x00, 0x67, 0x00, 0x39, 0x00,
    0x33, 0x00, 0x9d, 0x00, 0x9c, 0x00, 0x3d, 0x00, 0x3c, 0x00, 0x35, 0x00, 0x2f, 0x00, 0xff, 0x01, 0x00, 0x00, 0x28,
    0x00, 0x23, 0x00, 0x00, 0x00, 0x16, 0x00, 0x00, 0x00, 0x17, 0x00, 0x00, 0x00, 0x0d, 0x00, 0x18, 0x00, 0x16, 0x08,
    0x09, 0x08, 0x0a, 0x08, 0x0b, 0x08, 0x04, 0x08, 0x05, 0x08, 0x06, 0x04, 0x01, 0x05, 0x01, 0x06, 0x01, 0x03, 0x01,
    0x02, 0x01,
];

/// Enough for the head of a record and the beginning of its content.
const READ: usize = 7;

/// Whether the server goes on with the firmware's handshake.
pub(super) async fn examine(connector: &Connector) -> Result<Option<Finding>, RequestError> {
    let answer = connector.send_raw(&CLIENT_HELLO, READ).await?;
    let refusal = match answer.as_slice() {
        // A handshake record with a ServerHello.
        [22, _, _, _, _, 2, ..] => return Ok(None),
        [21, _, _, _, _, _, description, ..] => format!("TLS alert {description}{}", name(*description)),
        [] => "it closes the connection".to_owned(),
        _ => "its answer is not TLS".to_owned(),
    };
    let message = format!(
        "the server refuses TLS as EDK2's firmware offers it, TLS 1.2 with a key exchange by RSA or DHE ({refusal}); newer firmware \
         may offer more"
    );
    let advice = "boot by an http:// URL, or put a server with OpenSSL in front of this one that has an RSA certificate and accepts \
                  DHE-RSA-AES256-GCM-SHA384";
    Ok(Some(Finding::warning("uefi-tls", &[Reader::UefiHttp], message).advice(advice)))
}

/// The names of the usual alerts (RFC 5246, 7.2).
fn name(description: u8) -> &'static str {
    match description {
        40 => ", handshake_failure",
        70 => ", protocol_version",
        71 => ", insufficient_security",
        _ => "",
    }
}
