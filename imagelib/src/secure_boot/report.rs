//! What dayone says about Secure Boot, for the API and for the command line.

use serde::Serialize;
use utoipa::ToSchema;

use super::examine::{Architecture, Sbat, Signature};

/// Whether a machine with Secure Boot boots, as far as the medium shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = SecureBootVerdict)]
pub enum Verdict {
    /// Everything that is verified is signed by those whom machines trust as they come.
    Kept,
    /// The machine must trust a key of the site, or the site must sign first.
    NeedsSiteKey,
    /// dayone could not read or verify something.
    Unknown,
    /// Firmware or a boot loader will refuse it.
    Impossible,
}

// The order is that of severity: the worst one counts.
named_variants!(Verdict {
    Kept => "kept",
    NeedsSiteKey => "needs-site-key",
    Unknown => "unknown",
    Impossible => "impossible",
});

/// Whether a base or an image boots with Secure Boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SecureBoot {
    /// The verdict. It takes for granted that machines trust Microsoft's third-party authorities, as they do when they come;
    /// which programs and keys a machine has been told to refuse or to accept, dayone cannot know.
    pub verdict: Verdict,
    /// Why, as a sentence.
    #[schema(
        example = "/EFI/BOOT/BOOTX64.EFI in /boot/grub/efi.img is not signed: sign it with a key that the machines' db has"
    )]
    pub reason: String,
    /// The programs that firmware and boot loaders may start.
    pub programs: Vec<Program>,
    /// What the boot reads although no signature covers it.
    pub unsigned: Vec<UnsignedFile>,
}

/// An EFI program of a medium.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = BootProgram)]
pub struct Program {
    /// Its path, and the file system if that is not the ISO's.
    #[schema(example = "/EFI/BOOT/BOOTX64.EFI in /boot/grub/efi.img")]
    pub path: String,
    /// What it is for.
    pub role: ProgramRole,
    /// The architecture that it is for; absent if it is no EFI program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// Whether the verdict on the medium depends on it. The others are not started by default, or not by these machines.
    pub counts: bool,
    /// Whether it is started.
    pub verdict: Verdict,
    /// Why, as the rest of a sentence that begins with the path.
    pub reason: String,
    /// For a program of an image: whether its bytes are certainly those of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// Its Authenticode digest (SHA-256, hexadecimal), which is what machines' lists of accepted and refused programs contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authenticode_sha256: Option<String>,
    /// Its signatures.
    pub signatures: Vec<Signature>,
    /// Its components, from its SBAT data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sbat: Vec<Sbat>,
}

/// What a program of a medium is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramRole {
    /// A shim, which firmware starts and which starts a boot loader.
    Shim,
    /// A boot loader.
    BootLoader,
    /// The program by which somebody at the console tells shim about other keys.
    MokManager,
    /// The program that shim starts on an installed disk.
    Fallback,
    /// A Linux kernel.
    Kernel,
    /// A unified kernel image.
    UnifiedKernelImage,
    /// An addon to a unified kernel image.
    Addon,
    /// Something else.
    Other,
}

named_variants!(ProgramRole {
    Shim => "shim",
    BootLoader => "boot loader",
    MokManager => "MokManager",
    Fallback => "fallback",
    Kernel => "kernel",
    UnifiedKernelImage => "unified kernel image",
    Addon => "addon",
    Other => "other program",
});

/// A file that a boot reads although no signature covers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct UnsignedFile {
    /// Its path, and the file system if that is not the ISO's.
    #[schema(example = "/boot/grub/grub.cfg")]
    pub path: String,
    /// What it is.
    pub kind: UnsignedKind,
}

/// What a file is that no signature covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnsignedKind {
    /// A configuration of a boot loader, with the kernel arguments.
    BootConfiguration,
    /// An initramfs. dayone's files are in it.
    Initrd,
    /// Credentials that a unified kernel image takes.
    Credential,
}

named_variants!(UnsignedKind {
    BootConfiguration => "boot configuration",
    Initrd => "initrd",
    Credential => "credential",
});
