//! Certificates of BMCs: those that a test makes, on a TLS server of loopback.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use redfish::{Certificates, Client, ClientOptions, RedfishError, Target, Verification};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A BMC with a certificate of its own making, for these names, and that certificate in PEM.
async fn start(names: &[&str]) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    (serve(certificate.der().clone(), &key).await, certificate.pem())
}

fn acceptor(certificate: CertificateDer<'static>, key: &KeyPair) -> tokio_rustls::TlsAcceptor {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], private)
        .unwrap();
    Arc::new(config).into()
}

/// A TLS server that answers everything with an empty object.
async fn serve(certificate: CertificateDer<'static>, key: &KeyPair) -> String {
    let acceptor = acceptor(certificate, key);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}").await;
            let _ = stream.shutdown().await;
        }
    });
    format!("redfish-virtualmedia://{address}")
}

async fn connect(address: &str, verification: Verification) -> Result<(), RedfishError> {
    let target = Target { address: address.parse().unwrap(), credentials: None, verification };
    Client::connect(&target, &ClientOptions::default()).await.map(drop)
}

fn certificates(pem: &str) -> Verification {
    Verification::CaFile(Certificates::from_pem(pem).unwrap())
}

#[tokio::test]
async fn an_unknown_certificate_is_refused_unless_verification_is_off() {
    let (address, pem) = start(&["127.0.0.1"]).await;
    let error = connect(&address, Verification::System).await.unwrap_err();
    assert!(matches!(error, RedfishError::Tls { .. }) && !error.is_transient(), "{error}");
    assert!(error.to_string().contains("disable certificate verification"), "{error}");
    let (_, another) = start(&["127.0.0.1"]).await;
    let error = connect(&address, certificates(&another)).await.unwrap_err();
    assert!(matches!(error, RedfishError::Tls { .. }), "{error}");
    connect(&address, Verification::Disabled).await.unwrap();
    connect(&address, certificates(&(another + &pem))).await.unwrap();
}

#[tokio::test]
async fn requests_share_a_connection_with_tls() {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    let acceptor = acceptor(certificate.der().clone(), &key);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("redfish-virtualmedia://{}", listener.local_addr().unwrap()).parse().unwrap();
    // The BMC accepts one connection.
    let bmc = tokio::spawn(async move {
        let mut stream = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
        for _ in 0..3 {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
            stream.flush().await.unwrap();
        }
        stream
    });
    let target = Target { address, credentials: None, verification: certificates(&certificate.pem()) };
    let client = Client::connect(&target, &ClientOptions::default()).await.unwrap();
    for _ in 0..2 {
        client.get("/redfish/v1/Systems/1").await.unwrap();
    }
    drop(client);
    // The client says that the connection ends. Otherwise, reading would fail.
    assert_eq!(bmc.await.unwrap().read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn a_bmc_is_trusted_by_its_own_certificate_whatever_names_are_in_it() {
    for names in [&["idrac-abc123.example"][..], &[]] {
        let (address, pem) = start(names).await;
        connect(&address, certificates(&pem)).await.unwrap();
    }
}

#[tokio::test]
async fn a_bmc_that_signs_itself_as_an_authority_is_trusted_by_its_own_certificate() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    let address = serve(certificate.der().clone(), &key).await;
    let error = connect(&address, Verification::System).await.unwrap_err().to_string();
    assert!(error.contains("CA:TRUE") && !error.contains("OtherError"), "{error}");
    connect(&address, certificates(&certificate.pem())).await.unwrap();
}

#[tokio::test]
async fn a_certificate_of_an_authority_must_be_for_the_address() {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    for (names, good) in [(&["127.0.0.1"][..], true), (&["bmc.example"], false), (&[], false)] {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate = CertificateParams::new(names.clone()).unwrap().signed_by(&key, &issuer).unwrap();
        let address = serve(certificate.der().clone(), &key).await;
        let outcome = connect(&address, certificates(&authority_pem)).await;
        assert_eq!(outcome.is_ok(), good, "{outcome:?}");
        if let Err(error) = outcome {
            let error = error.to_string();
            assert!(error.contains("not for the BMC's address") && !error.contains("DnsName"), "{error}");
            assert!(names.iter().all(|name| error.contains(&format!("is for {name}"))), "{error}");
        }
    }
}

#[tokio::test]
async fn plain_http_instead_of_tls_and_the_reverse_are_reported() {
    let bmc = crate::bmc::Bmc::start(false).await;
    let error = connect(&bmc.url.replace("http://", "redfish://"), Verification::Disabled).await.unwrap_err();
    assert!(error.to_string().contains("write its address with +http"), "{error}");
    let (address, _) = start(&["127.0.0.1"]).await;
    let error = connect(&address.replace("://", "+http://"), Verification::Disabled).await.unwrap_err();
    assert!(error.to_string().contains("write its address without +http"), "{error}");
}

#[tokio::test]
async fn an_answer_may_end_with_its_connection_without_an_announcement_in_tls() {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    for (answer, is_whole) in [
        ("HTTP/1.0 200 OK\r\n\r\n{}", true),
        ("HTTP/1.0 200 OK\r\n\r\n{", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{", false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}", false),
    ] {
        let outcome = over_tls(certificate.der().clone(), &key, &certificate.pem(), move |mut stream| async move {
            stream.write_all(answer.as_bytes()).await.unwrap();
            // Then drops the stream, which closes the TCP connection without `close_notify`.
            stream.flush().await.unwrap();
        })
        .await;
        assert_eq!(outcome.is_ok(), is_whole, "{answer}");
        assert!(outcome.err().is_none_or(|error| !error.to_string().contains("rustls")), "{answer}");
    }
}

#[tokio::test]
async fn tls_that_breaks_after_a_request_is_a_connection_that_broke() {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    let outcome = over_tls(certificate.der().clone(), &key, &certificate.pem(), |mut stream| async move {
        let _ = stream.get_mut().0.write_all(b"HTTP/1.1 503 Busy\r\n\r\n").await;
    })
    .await;
    let error = outcome.unwrap_err();
    // The BMC may have carried it out, and there is no sign of plain HTTP.
    assert!(matches!(error, RedfishError::Broken { .. }) && !error.to_string().contains("+http"), "{error}");
}

/// Connects to a BMC that reads one request, and then calls `answer`.
async fn over_tls<F>(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
    pem: &str,
    answer: impl FnOnce(tokio_rustls::server::TlsStream<tokio::net::TcpStream>) -> F + Send + 'static,
) -> Result<(), RedfishError>
where
    F: Future<Output = ()> + Send,
{
    let acceptor = acceptor(certificate, key);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let mut stream = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        answer(stream).await;
    });
    let target = Target { address, credentials: None, verification: certificates(pem) };
    Client::connect(&target, &ClientOptions { retries: 0, ..ClientOptions::default() }).await.map(drop)
}
