//! One EFI program: what it is, its digest, and its signatures.

use serde::Serialize;
use utoipa::ToSchema;

use super::vendor::VendorKeys;
use crate::authenticode::{Algorithm, Authenticode, Certificate, PeError, PeImage, Verified};
use crate::boot_medium::Program as Kind;
use crate::source::Source;

/// The section with the SBAT data, and the most of it that is read.
const SBAT: (&[u8], u64) = (b".sbat", 64 << 10);

/// A processor architecture that UEFI knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ProgramArchitecture)]
pub enum Architecture {
    /// 64-bit PCs.
    X64,
    /// 32-bit PCs.
    Ia32,
    /// 64-bit ARM.
    Aa64,
    /// 32-bit ARM.
    Arm,
    /// 64-bit RISC-V.
    Riscv64,
    /// 64-bit `LoongArch`.
    Loongarch64,
}

named_variants!(Architecture {
    X64 => "x64",
    Ia32 => "ia32",
    Aa64 => "aa64",
    Arm => "arm",
    Riscv64 => "riscv64",
    Loongarch64 => "loongarch64",
});

impl Architecture {
    pub(super) const ALL: [Self; 6] = [Self::X64, Self::Ia32, Self::Aa64, Self::Arm, Self::Riscv64, Self::Loongarch64];

    /// The architecture that the header of a program names.
    fn of(machine: u16) -> Option<Self> {
        Some(match machine {
            0x8664 => Self::X64,
            0x014c => Self::Ia32,
            0xaa64 => Self::Aa64,
            0x01c0 | 0x01c2 | 0x01c4 => Self::Arm,
            0x5064 => Self::Riscv64,
            0x6264 => Self::Loongarch64,
            _ => return None,
        })
    }
}

/// Whether a signature is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureState {
    /// The signer has signed these bytes.
    Good,
    /// The signer has signed other bytes: the program was changed afterwards.
    OtherBytes,
    /// The signer has not made this signature.
    Forged,
    /// dayone cannot verify it.
    Unverified,
}

/// A signature of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ProgramSignature)]
pub struct Signature {
    /// The common name of the signer's certificate; absent if the signature cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Debian Secure Boot Signer 2022 - linux")]
    pub signer: Option<String>,
    /// The common name of the authority that has issued that certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Debian Secure Boot CA")]
    pub issuer: Option<String>,
    /// Whether it is good.
    pub state: SignatureState,
    /// Why dayone cannot verify it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A component of a program by its SBAT data. Machines refuse components whose generation is too old.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Sbat {
    /// Its name.
    #[schema(example = "shim")]
    pub component: String,
    /// Its generation.
    #[schema(value_type = u64, maximum = 4_294_967_295_u64, example = 4)]
    pub generation: u32,
}

/// What examining a program has shown.
#[derive(Debug, Clone)]
pub struct Examined {
    /// The architecture that it is for.
    pub architecture: Option<Architecture>,
    /// Its Authenticode digest (SHA-256).
    pub digest: Option<[u8; 32]>,
    /// Its signatures.
    pub signatures: Vec<Signature>,
    /// Its components.
    pub sbat: Vec<Sbat>,
    pub(super) kind: Kind,
    /// Who has signed, for each signature that is good: the signer and the certificates beside it.
    pub(super) signers: Vec<Signer>,
    /// The keys in it, if it is a shim.
    pub(super) vendor: Option<VendorKeys>,
    pub(super) problem: Option<Problem>,
}

/// Who has made a good signature.
#[derive(Debug, Clone)]
pub(super) struct Signer {
    pub(super) certificate: Certificate,
    pub(super) others: Vec<Certificate>,
}

/// Why a program cannot be examined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// It is not an EFI program, or damaged: firmware refuses it.
    NotStartable(String),
    /// It is compressed with gzip. Firmware refuses it. Red Hat's GRUB unpacks a kernel before it has the shim verify it, others have
    /// it verified as it is.
    Gzip,
    /// It could not be read.
    Unreadable(String),
}

/// Examines a program. What cannot be read is part of the result.
pub fn examine(source: &dyn Source) -> Examined {
    let whole = 0..source.size();
    let mut found = Examined {
        architecture: None,
        digest: None,
        signatures: Vec::new(),
        sbat: Vec::new(),
        kind: Kind::at(source, std::slice::from_ref(&whole)),
        signers: Vec::new(),
        vendor: None,
        problem: None,
    };
    match found.read(source) {
        Ok(()) => {}
        Err(error @ PeError::Read(_)) => found.problem = Some(Problem::Unreadable(error.to_string())),
        Err(PeError::Gzip) => found.problem = Some(Problem::Gzip),
        Err(error) => found.problem = Some(Problem::NotStartable(error.to_string())),
    }
    found
}

impl Examined {
    /// What stands for a program that dayone did not look at.
    pub(super) fn unreadable(reason: &str) -> Self {
        Self {
            architecture: None,
            digest: None,
            signatures: Vec::new(),
            sbat: Vec::new(),
            kind: Kind::Other,
            signers: Vec::new(),
            vendor: None,
            problem: Some(Problem::Unreadable(reason.to_owned())),
        }
    }

    fn read(&mut self, source: &dyn Source) -> Result<(), PeError> {
        let program = PeImage::read(source)?;
        self.architecture = Architecture::of(program.machine);
        let ranges = program.signed_ranges()?;
        let digest = Algorithm::Sha256.hash_ranges(source, &ranges)?;
        self.digest = digest.first_chunk().copied();
        self.vendor = VendorKeys::of(source, &program)?;
        let sbat = program.section(source, SBAT.0, SBAT.1)?;
        self.sbat = components(&sbat.unwrap_or_default());
        for bytes in program.signatures(source)? {
            let signature = match Authenticode::read(&bytes) {
                Ok(signature) => signature,
                Err(error) => {
                    let (state, problem) = (SignatureState::Unverified, Some(error.to_string()));
                    self.signatures.push(Signature { signer: None, issuer: None, state, problem });
                    continue;
                }
            };
            let actual = match signature.algorithm {
                Algorithm::Sha256 => digest.clone(),
                other => other.hash_ranges(source, &ranges)?,
            };
            let (state, problem) = match signature.verified {
                _ if actual != signature.digest => (SignatureState::OtherBytes, None),
                Verified::Yes => (SignatureState::Good, None),
                Verified::No => (SignatureState::Forged, None),
                Verified::Unknown => {
                    (SignatureState::Unverified, Some("dayone does not know its algorithm".to_owned()))
                }
            };
            let (signer, issuer) = (Some(signature.signer.subject()), Some(signature.signer.issuer()));
            self.signatures.push(Signature { signer, issuer, state, problem });
            if state == SignatureState::Good {
                self.signers.push(Signer { certificate: signature.signer, others: signature.others });
            }
        }
        Ok(())
    }

    /// Whether a signature has this state.
    pub(super) fn has(&self, state: SignatureState) -> bool {
        self.signatures.iter().any(|signature| signature.state == state)
    }
}

/// The lines of SBAT data: a component, its generation, and more (shim, `SBAT.md`). The first one is about the format.
fn components(text: &[u8]) -> Vec<Sbat> {
    let text = String::from_utf8_lossy(text);
    let line = |line: &str| {
        let mut fields = line.split(',');
        let component: String = fields.next()?.chars().filter(char::is_ascii_graphic).collect();
        let generation = fields.next()?.parse().ok()?;
        Some(Sbat { component, generation })
    };
    text.trim_end_matches('\0').lines().filter_map(line).filter(|sbat| sbat.component != "sbat").collect()
}
