//! Whether firmware, or a shim, starts a program.

use super::examine::{Examined, Problem, Signature, SignatureState, Signer};
use super::report::Verdict;
use super::vendor::VendorKeys;
use crate::authenticode::{Certificate, PeError, Verified};

/// The authorities with which Microsoft signs the shims of other vendors, by the SHA-256 of their certificates: "Microsoft
/// Corporation UEFI CA 2011" and "Microsoft UEFI CA 2023". Machines come with one of them or both.
const MICROSOFT: [[u8; 32]; 2] = [
    [
        0x48, 0xe9, 0x9b, 0x99, 0x1f, 0x57, 0xfc, 0x52, 0xf7, 0x61, 0x49, 0x59, 0x9b, 0xff, 0x0a, 0x58, 0xc4, 0x71,
        0x54, 0x22, 0x9b, 0x9f, 0x8d, 0x60, 0x3a, 0xc4, 0x0d, 0x35, 0x00, 0x24, 0x85, 0x07,
    ],
    [
        0xf6, 0x12, 0x4e, 0x34, 0x12, 0x5b, 0xee, 0x3f, 0xe6, 0xd7, 0x9a, 0x57, 0x4e, 0xaa, 0x7b, 0x91, 0xc0, 0xe7,
        0xbd, 0x9d, 0x92, 0x9c, 0x1a, 0x32, 0x11, 0x78, 0xef, 0xd6, 0x11, 0xda, 0xd9, 0x01,
    ],
];

/// How many certificates may be between a signer and an authority.
const MAX_CHAIN: usize = 4;

/// Who verifies a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verifier<'a> {
    /// Firmware, with its `db`.
    Firmware,
    /// A shim, with its own keys, with the firmware's and with those of its owner (MOK).
    Shim(&'a VendorKeys),
}

/// What is known of a compressed kernel that a boot loader behind a shim loads.
const BEHIND_SHIM: &str = "is compressed with gzip, and dayone does not know whether the boot loader before it unpacks a kernel \
                           before the shim verifies it, as Red Hat's does";

/// Whether the verifier starts the program, and why: what follows the name of the program in a sentence.
pub(super) fn judge(program: &Examined, verifier: Verifier<'_>) -> (Verdict, String) {
    match &program.problem {
        Some(Problem::Unreadable(reason)) => return (Verdict::Unknown, reason.clone()),
        Some(Problem::NotStartable(reason)) => return (Verdict::Impossible, reason.clone()),
        Some(Problem::Gzip) => {
            return match verifier {
                Verifier::Firmware => (Verdict::Impossible, PeError::Gzip.to_string()),
                Verifier::Shim(_) => (Verdict::Unknown, BEHIND_SHIM.to_owned()),
            };
        }
        None => {}
    }
    let microsoft = program.signers.iter().find_map(|signer| {
        leads_to(signer, &signer.others.iter(), |authority| MICROSOFT.contains(authority.fingerprint()))
    });
    if let Verifier::Shim(keys) = verifier {
        if is_refused(program, keys) {
            return (Verdict::Impossible, "is on the list of programs that the shim before it refuses".to_owned());
        }
        let digest = program.digest.filter(|digest| keys.accepted.digests.contains(digest));
        let vendor = program.signers.iter().find_map(|signer| {
            let known = |certificate: &Certificate| is_among(certificate, &keys.accepted.certificates);
            leads_to(signer, &keys.accepted.certificates.iter().chain(&signer.others), known)
        });
        if let Some(authority) = vendor {
            let signer = signer_names(program);
            return (Verdict::Kept, format!("is signed by {signer}; the shim before it has the key of '{authority}'"));
        }
        if digest.is_some() {
            return (Verdict::Kept, "is on the list of programs that the shim before it accepts".to_owned());
        }
    }
    if let Some(authority) = microsoft {
        let signer = signer_names(program);
        return (
            Verdict::Kept,
            format!("is signed by {signer}; machines trust '{authority}' unless somebody removed it"),
        );
    }
    let names = signer_names(program);
    match (program.signatures.is_empty(), verifier) {
        (true, Verifier::Firmware) => {
            let reason = "is not signed: sign it with a key that the machines' db has".to_owned();
            (Verdict::NeedsSiteKey, reason)
        }
        (true, Verifier::Shim(_)) => {
            (Verdict::Impossible, "is not signed, and the shim before it starts only what is signed".to_owned())
        }
        _ if !program.signers.is_empty() => {
            let place = match verifier {
                Verifier::Firmware => "db",
                Verifier::Shim(_) => "db or MOK list",
            };
            (Verdict::NeedsSiteKey, format!("is signed by {names}: the machines' {place} must have that key"))
        }
        _ if program.has(SignatureState::Unverified) => {
            (Verdict::Unknown, format!("has a signature that dayone cannot verify: {}", problems(program)))
        }
        _ if program.has(SignatureState::OtherBytes) => {
            (Verdict::Impossible, format!("is not what {names} signed: it was changed afterwards, or is damaged"))
        }
        _ => (Verdict::Impossible, format!("has a forged signature, which {names} did not make")),
    }
}

fn is_refused(program: &Examined, keys: &VendorKeys) -> bool {
    let refused = &keys.refused;
    let by_key = |signer: &Signer| {
        let known = |certificate: &Certificate| is_among(certificate, &refused.certificates);
        leads_to(signer, &refused.certificates.iter().chain(&signer.others), known).is_some()
    };
    program.digest.is_some_and(|digest| refused.digests.contains(&digest)) || program.signers.iter().any(by_key)
}

fn is_among(certificate: &Certificate, list: &[Certificate]) -> bool {
    list.iter().any(|known| known.fingerprint() == certificate.fingerprint())
}

/// The name of the known authority that vouches for a signer. `candidates` are all certificates that may lead there.
fn leads_to<'a>(
    signer: &'a Signer,
    candidates: &(impl Iterator<Item = &'a Certificate> + Clone),
    known: impl Fn(&Certificate) -> bool,
) -> Option<String> {
    let mut current = &signer.certificate;
    for _ in 0..MAX_CHAIN {
        if known(current) {
            return Some(current.subject());
        }
        let issued = |candidate: &&Certificate| candidate.has_issued(current) == Verified::Yes;
        current = candidates.clone().find(issued)?;
    }
    None
}

/// Who has signed a program: the good signatures, or else all of them.
fn signer_names(program: &Examined) -> String {
    let good = program.has(SignatureState::Good);
    let signatures = program.signatures.iter().filter(|signature| !good || signature.state == SignatureState::Good);
    let name = |signature: &Signature| match (&signature.signer, &signature.issuer) {
        (Some(signer), Some(issuer)) => format!("'{signer}' (issued by '{issuer}')"),
        _ => "somebody".to_owned(),
    };
    let names: Vec<String> = signatures.map(name).collect();
    names.join(" and ")
}

fn problems(program: &Examined) -> String {
    let problems: Vec<&str> = program.signatures.iter().filter_map(|signature| signature.problem.as_deref()).collect();
    problems.join("; ")
}
