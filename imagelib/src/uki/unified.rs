//! Reads a unified kernel image.

use std::io;
use std::ops::Range;

use super::addon::Machine;
use super::stub::{Carrier, StubVersion};
use crate::authenticode::{PeError, PeImage};
use crate::source::Source;

/// The maximum length of a section with text, in bytes: `os-release`, kernel arguments.
const MAX_TEXT_BYTES: u64 = 64 << 10;

/// What a unified kernel image has in its sections.
#[derive(Debug, Clone)]
pub(crate) struct UnifiedKernel {
    /// The release of its stub; `None` if that is not systemd-stub.
    pub(crate) stub: Option<StubVersion>,
    /// The processor architecture; `None` if dayone writes no addons for it.
    pub(crate) machine: Option<Machine>,
    /// The name of its system: `PRETTY_NAME` of `os-release`.
    pub(crate) system: Option<String>,
    /// The release of its kernel.
    pub(crate) kernel: Option<String>,
    /// Its kernel arguments.
    pub(crate) arguments: String,
    /// The place of its initrd in the file.
    pub(crate) initrd: Option<Range<u64>>,
}

/// Why dayone cannot add anything to a unified kernel image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnusableUki {
    /// The program is damaged, or cannot be read.
    #[error("it {0}")]
    Program(String),
    /// The stub is unknown.
    #[error("its stub is not systemd-stub, and dayone does not know what it reads")]
    Stub,
    /// The stub reads no addons.
    #[error("its stub is systemd-stub {0}, which reads no addons (releases from 254 on do)")]
    NoAddons(StubVersion),
    /// The stub reads addons, but not their initrds.
    #[error(
        "its stub is systemd-stub {0}, which takes kernel arguments from an addon, but no initrd (releases from 257 on do); and the \
         system in its initrd does not write what is in a credential (that of dracut with systemd 254 or later does)"
    )]
    ArgumentsOnly(StubVersion),
    /// dayone writes no addons for the architecture.
    #[error("it is for a processor architecture for which dayone writes no addons (it does for x86-64 and 64-bit ARM)")]
    Machine,
    /// There is no initrd.
    #[error("it has no initrd")]
    NoInitrd,
    /// The initrd cannot be read to its end.
    #[error("its initrd cannot be read: {0}")]
    Initrd(String),
    /// The place of dayone's credential is taken.
    #[error("it has a credential of the name of dayone's already ({0}), which dayone would replace")]
    CredentialExists(String),
    /// systemd-boot counts its boots by renaming it.
    #[error(
        "its name has a counter of boots (+), and the directory of its addons would not be found after a change of it"
    )]
    BootCounter,
}

impl UnifiedKernel {
    /// Reads the sections of a program. Fails if they do not show one.
    pub(crate) fn read(source: &dyn Source) -> Result<Self, UnusableUki> {
        let program = PeImage::read(source).map_err(|error| UnusableUki::Program(error.to_string()))?;
        let read = || -> io::Result<Self> {
            let text = |name: &[u8]| {
                let bytes = program.section(source, name, MAX_TEXT_BYTES)?;
                Ok::<_, io::Error>(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()))
            };
            let magic = program.section(source, b".sdmagic", MAX_TEXT_BYTES)?;
            let os_release = text(b".osrel")?.unwrap_or_default();
            Ok(Self {
                stub: magic.as_deref().and_then(StubVersion::of_section),
                machine: Machine::of(program.machine),
                system: pretty_name(&os_release).map(plain),
                kernel: text(b".uname")?.map(|text| plain(&text)),
                arguments: text(b".cmdline")?.unwrap_or_default().trim().to_owned(),
                initrd: program.section_range(b".initrd").filter(|range| !range.is_empty()),
            })
        };
        read().map_err(|error| UnusableUki::Program(PeError::Read(error).to_string()))
    }

    /// Why its stub takes no initrd from an addon; none, if it does.
    pub(crate) fn without_initrd(&self) -> Option<UnusableUki> {
        let stub = self.stub.as_ref()?;
        (stub.carrier() == Carrier::ArgumentsAddon).then(|| UnusableUki::ArgumentsOnly(stub.clone()))
    }

    /// What its stub takes.
    pub(crate) fn carrier(&self) -> Carrier {
        self.stub.as_ref().map_or(Carrier::None, StubVersion::carrier)
    }

    /// The machine for which to write an addon and the place of the initrd, or why dayone cannot write one.
    pub(crate) fn usable(&self) -> Result<(Machine, Range<u64>), UnusableUki> {
        let stub = self.stub.as_ref().ok_or(UnusableUki::Stub)?;
        if stub.carrier() == Carrier::None {
            return Err(UnusableUki::NoAddons(stub.clone()));
        }
        let machine = self.machine.ok_or(UnusableUki::Machine)?;
        Ok((machine, self.initrd.clone().ok_or(UnusableUki::NoInitrd)?))
    }
}

fn pretty_name(os_release: &str) -> Option<&str> {
    let line = os_release.lines().find_map(|line| line.trim().strip_prefix("PRETTY_NAME="));
    line.map(|value| value.trim_matches(['"', '\'']))
}

/// A text of a foreign program, for people to read.
fn plain(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(200).collect()
}
