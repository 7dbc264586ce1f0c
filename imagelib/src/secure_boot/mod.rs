//! UEFI Secure Boot, stated before the boot: which programs firmware and boot loaders start from a base or an image, who has
//! signed them, and whether machines will start them.
//!
//! A program's signature covers its own bytes. dayone changes none of the signed programs, and proves it for each image: either
//! the program consists of the same ranges of the base's files, or its bytes are examined again. What dayone cannot know is what
//! a machine trusts (`db`, `dbx`, MOK). It says which authority has signed, and takes for granted only that machines trust
//! Microsoft's third-party authorities.
//!
//! | module | what it does |
//! | --- | --- |
//! | `vendor` | reads the keys in a shim |
//! | `examine` | reads one program and its signatures ([`crate::authenticode`]) |
//! | `medium` | finds the programs on a medium |
//! | `trust`, `chain` | decide whether firmware and shim start them |
//! | `survey` | all of that for a base, and for an image of it |

mod chain;
mod examine;
mod medium;
mod report;
mod survey;
#[cfg(test)]
mod tests;
mod trust;
mod unsigned;
mod vendor;

pub use examine::{Architecture, Examined, Sbat, Signature, SignatureState, examine};
pub use report::{Program, ProgramRole, SecureBoot, UnsignedFile, UnsignedKind, Verdict};
pub use survey::Survey;
