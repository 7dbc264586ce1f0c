//! TLS as Intel's virtual-media wants it from nbdkit (`state/activating_state.cpp`: TLS 1.2 or later, ECDHE with
//! AES256-GCM-SHA384, or TLS 1.3's `AES_256_GCM_SHA384`), and the certificate as any client that checks it does.

use rustls::{CertificateError, Error};

use crate::finding::{Finding, Reader};
use crate::http::{Ask, GLIMPSE, Pace, Suites, Trouble};
use crate::lab::Lab;

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let connection = lab.connect().await?;
    findings.extend(connection.certificate().map(certificate));
    drop(connection);
    let tls12 = speaks(lab, Suites::Tls12Aes256).await;
    let tls13 = speaks(lab, Suites::Tls13Aes256).await;
    match (tls12, tls13) {
        (Ok(()), _) => {}
        (Err(error), Ok(())) => {
            let message = format!("TLS 1.2 with ECDHE and AES256-GCM-SHA384 cannot be agreed on, TLS 1.3 can: {error}");
            findings.push(
                Finding::warning("tls-1-2-suites", &[Reader::OpenBmc, Reader::SomeFirmware], message)
                    .advice("offer TLS 1.2 with that suite: BMCs older than their OpenSSL 1.1.1 have no TLS 1.3"),
            );
        }
        (Err(error), Err(_)) => {
            let message = format!("no suite with ECDHE and AES-256-GCM can be agreed on: {error}");
            findings.push(Finding::fails("tls-suites", &[Reader::OpenBmc], message).advice(
                "offer ECDHE-ECDSA-AES256-GCM-SHA384 or ECDHE-RSA-AES256-GCM-SHA384, as the certificate's key is",
            ));
        }
    }
    Ok(())
}

async fn speaks(lab: &Lab, suites: Suites) -> Result<(), Trouble> {
    lab.connector.connect_as(Pace::Fast, suites).await?.ask(&Ask::head(), GLIMPSE).await.map(drop)
}

fn certificate(error: &Error) -> Finding {
    use CertificateError as Bad;
    let affects = [Reader::Verifying, Reader::Ironic, Reader::Nbdkit];
    match error {
        Error::InvalidCertificate(
            Bad::Expired | Bad::ExpiredContext { .. } | Bad::NotValidYet | Bad::NotValidYetContext { .. },
        ) => Finding::fails(
            "certificate-expired",
            &affects,
            format!("the certificate is not valid at this time: {error}"),
        )
        .advice("renew it, and check the clocks of this machine and of the server"),
        Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            Finding::fails("certificate-wrong-name", &affects, format!("the certificate is another server's: {error}"))
                .advice(
                    "issue it for what the URL says; an IP address must be among its subject alternative names as one",
                )
        }
        _ => {
            let affects = [affects.as_slice(), &[Reader::Supermicro]].concat();
            Finding::warning("certificate-not-trusted", &affects, format!("the certificate is not trusted here: {error}")).advice(
                "most BMCs do not check it; those that do need its CA (see VerifyCertificate and Certificates of VirtualMedia), \
                 which Supermicro's cannot import. --ca FILE names the CA",
            )
        }
    }
}
