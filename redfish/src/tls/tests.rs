use super::*;

#[test]
fn clients_share_the_verifier_of_their_certificates() {
    let key = rcgen::KeyPair::generate().unwrap();
    let pem = rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap().pem();
    let certificates = Certificates::from_pem(&pem).unwrap();
    let verifier = |certificates: &Certificates| certificates.verifier(&PROVIDER).unwrap();
    let first = verifier(&certificates);
    assert!(Arc::ptr_eq(&first, &verifier(&certificates.clone())));
    let again = Certificates::from_pem(&pem).unwrap();
    assert!(again == certificates && !Arc::ptr_eq(&first, &verifier(&again)));
}

#[test]
fn an_expired_certificate_may_be_a_wrong_clock() {
    let said = distrust(&CertificateError::Expired, &BMC);
    assert!(said.contains("check the clock of this system"), "{said}");
}

#[test]
fn names_are_shown_without_their_types() {
    for (name, expected) in [
        ("DnsName(\"a.example\")", "a.example"),
        ("IpAddress(10.0.0.1)", "10.0.0.1"),
        ("UniformResourceIdentifier(\"https://a.example/\")", "https://a.example/"),
        ("Unsupported(0x81)", "Unsupported(0x81)"),
        ("a.example", "a.example"),
    ] {
        assert_eq!(bare(name), expected);
    }
}

#[test]
fn no_type_of_rust_is_shown() {
    let short = CertificateError::Other(OtherError(Arc::new(ShortKey(1024))));
    let shown = rustls::Error::from(short).to_string();
    assert!(shown.contains("an RSA key of 1024 bits") && !shown.contains("ShortKey"), "{shown}");
    let other = distrust(&CertificateError::Other(OtherError(Arc::new(fmt::Error))), &BMC);
    assert!(other.contains(&fmt::Error.to_string()) && !other.contains("OtherError"), "{other}");
}
