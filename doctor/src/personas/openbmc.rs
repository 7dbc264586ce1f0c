//! TLS as Intel's virtual-media configures it for nbdkit (`state/activating_state.cpp`: TLS 1.2 or later, ECDHE with
//! AES256-GCM-SHA384, or TLS 1.3's `AES_256_GCM_SHA384`), and the certificate as clients verify it.

use std::sync::Arc;

use rustls::{CertificateError, Error};

use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{
    Pace, Problem, Request, RequestError, SMALL_BODY, Suites, authority_reason, is_of_authority, unusable_reason,
};

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let connection = context.connect().await?;
    findings.extend(connection.certificate_problems().iter().map(certificate));
    drop(connection);
    let tls12 = connects_with(context, Suites::Tls12Aes256).await;
    let tls13 = connects_with(context, Suites::Tls13Aes256).await;
    match (tls12, tls13) {
        (Ok(()), _) => {}
        (Err(error), Ok(())) => {
            let message =
                format!("the server supports TLS 1.3, but not TLS 1.2 with ECDHE and AES256-GCM-SHA384: {error}");
            findings.push(
                Finding::warning("tls-1-2-suites", &[Reader::OpenBmc, Reader::SomeFirmware], message)
                    .advice("offer TLS 1.2 with that suite: BMCs with OpenSSL before 1.1.1 have no TLS 1.3"),
            );
        }
        (Err(error), Err(_)) => {
            let message = format!("the server supports no suite with ECDHE and AES-256-GCM: {error}");
            findings.push(Finding::fails("tls-suites", &[Reader::OpenBmc], message).advice(
                "offer ECDHE-ECDSA-AES256-GCM-SHA384 or ECDHE-RSA-AES256-GCM-SHA384, depending on the certificate's \
                 key",
            ));
        }
    }
    Ok(())
}

async fn connects_with(context: &Context, suites: Suites) -> Result<(), RequestError> {
    context.connector.connect_as(Pace::Fast, suites).await?.send(&Request::head(), SMALL_BODY).await.map(drop)
}

fn certificate(error: &Error) -> Finding {
    let affects = [Reader::Verifying, Reader::Ironic, Reader::Nbdkit];
    match Problem::of(error) {
        Problem::Time => {
            let message = format!("the certificate has expired or is not valid yet: {error}");
            let advice = "renew the certificate, and check the clocks of this machine and of the server";
            Finding::fails("certificate-expired", &affects, message).advice(advice)
        }
        Problem::Name => {
            let message = format!("the certificate is for another server: {error}");
            let advice = "issue a certificate for the host in the URL; an IP address must be a subject alternative \
                          name of the type IP address";
            Finding::fails("certificate-wrong-name", &affects, message).advice(advice)
        }
        Problem::Authority => {
            let reason = authority_reason(error).unwrap_or_default();
            let message = format!("the certificate is one of an authority (CA:TRUE); {reason}");
            let advice = "issue a certificate for the server that is not an authority's (CA:FALSE), so that every reader that trusts \
                          the authority accepts it";
            Finding::warning("certificate-of-authority", &[Reader::Verifying], message).advice(advice)
        }
        Problem::Trust => {
            let affects = [affects.as_slice(), &[Reader::Supermicro]].concat();
            let message = format!("this machine does not trust the certificate: {}", distrust(error));
            let advice = if unusable_reason(error).is_some() {
                "issue a certificate of X.509 version 3, with an ECDSA key or with an RSA key of at least 2048 bits"
            } else {
                "most BMCs do not check it; those that do need its CA (VerifyCertificate and Certificates of \
                 VirtualMedia), which Supermicro's BMCs cannot import. Pass the CA, or the certificate itself, to the \
                 doctor with --ca FILE"
            };
            Finding::warning("certificate-not-trusted", &affects, message).advice(advice)
        }
    }
}

fn distrust(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => "no trusted authority has signed it".to_owned(),
        error if is_of_authority(error) => {
            "it is a certificate of an authority (CA:TRUE), not one of a server, and not among the trusted certificates that a server \
             may have"
                .to_owned()
        }
        Error::InvalidCertificate(CertificateError::BadSignature) => {
            "a signature does not fit: that of the certificate, or that of the server in the handshake".to_owned()
        }
        error => unusable_reason(error).unwrap_or_else(|| match error {
            // rustls would add the names of its types.
            Error::InvalidCertificate(CertificateError::Other(other)) => other.to_string(),
            error => error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use rustls::OtherError;

    use super::*;

    #[test]
    fn no_type_of_rust_is_shown() {
        let error = Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(fmt::Error))));
        assert_eq!(distrust(&error), fmt::Error.to_string());
    }
}
