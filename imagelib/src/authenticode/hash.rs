//! The hash algorithms of signatures.

use std::io;
use std::ops::Range;

use der::asn1::ObjectIdentifier;
use rsa::Pkcs1v15Sign;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use crate::source::Source;

/// How much is read at once.
const CHUNK: u64 = 1 << 20;

/// A hash algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    const ALL: [Self; 4] = [Self::Sha1, Self::Sha256, Self::Sha384, Self::Sha512];

    /// The algorithm of this identifier.
    pub(crate) fn of(identifier: ObjectIdentifier) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.identifiers().0 == identifier)
    }

    /// The algorithm that an RSA signature of this kind uses (RFC 8017 §A.2.4).
    pub(crate) fn of_rsa(identifier: ObjectIdentifier) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.identifiers().1 == identifier)
    }

    /// Its own identifier, and that of RSA signatures with it.
    fn identifiers(self) -> (ObjectIdentifier, ObjectIdentifier) {
        let (own, rsa) = match self {
            Self::Sha1 => ("1.3.14.3.2.26", "1.2.840.113549.1.1.5"),
            Self::Sha256 => ("2.16.840.1.101.3.4.2.1", "1.2.840.113549.1.1.11"),
            Self::Sha384 => ("2.16.840.1.101.3.4.2.2", "1.2.840.113549.1.1.12"),
            Self::Sha512 => ("2.16.840.1.101.3.4.2.3", "1.2.840.113549.1.1.13"),
        };
        (ObjectIdentifier::new_unwrap(own), ObjectIdentifier::new_unwrap(rsa))
    }

    pub(crate) fn hash(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha384 => Sha384::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }

    /// The hash of ranges of a file, one after the other.
    pub(crate) fn hash_ranges(self, source: &dyn Source, ranges: &[Range<u64>]) -> io::Result<Vec<u8>> {
        fn run<D: sha2::Digest>(source: &dyn Source, ranges: &[Range<u64>]) -> io::Result<Vec<u8>> {
            let mut hasher = D::new();
            for range in ranges {
                let mut position = range.start;
                while position < range.end {
                    let length = (range.end - position).min(CHUNK);
                    hasher.update(source.read_vec(position, length)?);
                    position += length;
                }
            }
            Ok(hasher.finalize().to_vec())
        }
        match self {
            Self::Sha1 => run::<Sha1>(source, ranges),
            Self::Sha256 => run::<Sha256>(source, ranges),
            Self::Sha384 => run::<Sha384>(source, ranges),
            Self::Sha512 => run::<Sha512>(source, ranges),
        }
    }

    /// How RSA signs such a hash: with the identifier of the algorithm before it (RFC 8017 §9.2, note 1).
    pub(crate) fn scheme(self) -> Pkcs1v15Sign {
        let (length, prefix): (usize, &[u8]) = match self {
            Self::Sha1 => (20, b"\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14"),
            Self::Sha256 => (32, b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"),
            Self::Sha384 => (48, b"\x30\x41\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x05\x00\x04\x30"),
            Self::Sha512 => (64, b"\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05\x00\x04\x40"),
        };
        Pkcs1v15Sign { hash_len: Some(length), prefix: prefix.into() }
    }
}
