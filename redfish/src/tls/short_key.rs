//! RSA keys that are too short for rustls.

use std::fmt;

use aws_lc_rs::rsa::PublicKey;
use rustls::server::ParsedCertificate;
use rustls_pki_types::CertificateDer;

/// The shortest RSA key whose signatures rustls verifies, in bits.
const SHORTEST_RSA: usize = 2048;

/// The RSA key of a BMC's certificate is too short for rustls, even if the certificate is trusted. The value is the key's length in
/// bits.
#[derive(thiserror::Error)]
#[error("its certificate has an RSA key of {0} bits, and this client verifies none of less than {SHORTEST_RSA}")]
pub(super) struct ShortKey(pub(super) usize);

/// rustls shows other errors than its own only in `Debug` form.
impl fmt::Debug for ShortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ShortKey {
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let certificate = ParsedCertificate::try_from(certificate).ok()?;
        let key = PublicKey::from_der(&certificate.subject_public_key_info()).ok()?;
        let bits = length(key.modulus().big_endian_without_leading_zero());
        (bits < SHORTEST_RSA).then_some(Self(bits))
    }
}

/// The length of a number in bits.
fn length(big_endian: &[u8]) -> usize {
    let zeros = big_endian.first().map_or(0, |first| first.leading_zeros());
    (8 * big_endian.len()).saturating_sub(usize::try_from(zeros).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_key_is_that_of_its_modulus_in_bits() {
        for (modulus, bits) in [(&[0x80, 0, 0][..], 24), (&[0x7f, 0xff], 15), (&[1], 1), (&[], 0)] {
            assert_eq!(length(modulus), bits, "{modulus:?}");
        }
    }
}
