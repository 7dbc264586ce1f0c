//! The certificates, keys and tokens of an API server, as files in its directory.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair,
};

/// The user who may do everything.
pub const ADMIN: &str = "admin";

/// A user with a token and without any rights.
pub const STRANGER: &str = "stranger";

/// Writes the files that the API server's arguments name, and returns the certificate (PEM) that verifies the server.
pub(super) fn write(directory: &Path) -> String {
    let write = |name: &str, text: String| fs::write(directory.join(name), text).expect("a file");
    let authority_key = KeyPair::generate().expect("a key");
    write("ca.key", authority_key.serialize_pem());
    let authority = CertifiedIssuer::self_signed(authority_parameters(), authority_key).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned);
    let parameters = CertificateParams::new(names.to_vec()).expect("parameters");
    let certificate = parameters.signed_by(&key, &authority).expect("a certificate");
    write("ca.crt", authority.pem());
    write("server.crt", certificate.pem());
    write("server.key", key.serialize_pem());
    let accounts = KeyPair::generate().expect("a key");
    write("accounts.key", accounts.serialize_pem());
    write("accounts.pub", accounts.public_key_pem());
    let token = |user: &str, group: &str| format!("{},{user},{user},\"{group}\"\n", static_token(user));
    write("tokens.csv", token(ADMIN, "system:masters") + &token(STRANGER, "strangers"));
    authority.pem()
}

fn authority_parameters() -> CertificateParams {
    let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters
}

/// Returns a new client certificate of a user, and its key (PEM), by the authority of the server in this directory.
pub(super) fn client(directory: &Path, user: &str) -> (String, String) {
    let key = fs::read_to_string(directory.join("ca.key")).expect("a key");
    let authority = Issuer::new(authority_parameters(), KeyPair::from_pem(&key).expect("a key"));
    let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, user);
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().expect("a key");
    let certificate = parameters.signed_by(&key, &authority).expect("a certificate");
    (certificate.pem(), key.serialize_pem())
}

/// Returns the token of a user who is not a service account.
pub(super) fn static_token(user: &str) -> String {
    assert!([ADMIN, STRANGER].contains(&user), "{user}: neither a service account nor one of {ADMIN}, {STRANGER}");
    format!("token-of-{user}")
}

/// Returns the namespace and the name of `system:serviceaccount:NAMESPACE:NAME`.
pub(super) fn service_account(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix("system:serviceaccount:")?.split_once(':')
}
