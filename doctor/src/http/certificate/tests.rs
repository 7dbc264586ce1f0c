use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd};

use super::*;

/// A certificate that signed itself as an authority, for this address and until this year.
fn authority(address: &str, until: i32) -> CertificateDer<'static> {
    authority_for(&[], address, until)
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params
}

fn authority_for(usages: &[KeyUsagePurpose], address: &str, until: i32) -> CertificateDer<'static> {
    let mut params = CertificateParams::new([address.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = usages.to_vec();
    params.not_after = date_time_ymd(until, 1, 1);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
}

fn found(trust: &Trust, certificate: &CertificateDer<'_>) -> Vec<Problem> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = trust.verifier(provider).unwrap().unwrap();
    let (name, now) = (ServerName::try_from("127.0.0.1").unwrap(), UnixTime::now());
    let shown = Shown { end_entity: certificate, intermediates: &[], server_name: &name, ocsp_response: &[] };
    problems(&verifier, shown, now).iter().map(Problem::of).collect()
}

#[test]
fn a_listed_certificate_is_trusted_and_its_name_and_dates_are_checked() {
    use Problem::{Name, Time, Trust as Distrust};
    let other = authority("127.0.0.1", 2999);
    for (address, until, expected) in [
        ("127.0.0.1", 2999, &[][..]),
        ("10.0.0.1", 2999, &[Name]),
        ("127.0.0.1", 2001, &[Time]),
        ("10.0.0.1", 2001, &[Time, Name]),
    ] {
        let certificate = authority(address, until);
        let listed = Trust::Authorities(vec![other.clone(), certificate.clone()]);
        assert_eq!(found(&listed, &certificate), expected, "{address} {until}");
        let unlisted = Trust::Authorities(vec![other.clone()]);
        assert_eq!(found(&unlisted, &certificate), [&[Distrust], expected].concat(), "{address} {until}");
    }
}

#[test]
fn a_file_without_a_usable_authority_trusts_nothing_else() {
    let certificate = authority("127.0.0.1", 2999);
    let listed = Trust::Authorities(vec![CertificateDer::from(vec![1, 2, 3])]);
    assert_eq!(found(&listed, &certificate), [Problem::Trust]);
}

/// What is wrong with a certificate of an authority, for a machine that trusts these. webpki refuses it whatever the machine trusts.
fn judged(certificate: &CertificateDer<'static>, trusted: &[&CertificateDer<'static>]) -> Error {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    // As rustls-platform-verifier makes it from the authorities of a Linux system.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let error = verifier.verify_server_cert(certificate, &[], &name, &[], UnixTime::now()).unwrap_err();
    assert!(is_of_authority(&error), "{error}");
    let trusted = trusted.iter().map(|one| (*one).clone()).collect();
    explained(error, &Certificate::new(certificate.clone()).unwrap(), || trusted)
}

#[test]
fn an_authority_that_the_machine_trusts_is_told_from_others() {
    let other = authority("127.0.0.1", 2999);
    for (usages, expected) in [
        (&[][..], Problem::Authority),
        (&[KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature], Problem::Authority),
        // OpenSSL refuses to take this one for a server's.
        (&[KeyUsagePurpose::KeyCertSign], Problem::Trust),
    ] {
        let certificate = authority_for(usages, "127.0.0.1", 2999);
        let problem = |trusted: &[&CertificateDer<'static>]| Problem::of(&judged(&certificate, trusted));
        assert_eq!(problem(&[&other, &certificate]), expected, "{usages:?}");
        assert_eq!(problem(&[&other]), Problem::Trust, "{usages:?}");
    }
}

#[test]
fn who_has_signed_a_certificate_of_an_authority_decides_who_takes_it() {
    let key = || KeyPair::generate().unwrap();
    let root = rcgen::CertifiedIssuer::self_signed(named("root"), key()).unwrap();
    let signed = named("signed").signed_by(&key(), &root).unwrap().der().clone();
    let root: CertificateDer<'static> = root.der().clone();
    for (trusted, expected) in [
        (&[&root][..], Some("the name of its issuer")),
        (&[&signed], Some("but not who has signed it")),
        (&[&signed, &root], Some("such as Ironic and curl, do not mind")),
        (&[], None),
    ] {
        let found = authority_reason(&judged(&signed, trusted));
        assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        assert!(found.clone().unwrap_or_default().contains(expected.unwrap_or_default()), "{found:?}");
    }
}
