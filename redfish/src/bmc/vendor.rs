//! The vendors whose BMCs need different requests. `docs/bmcs.md` has the source of each difference.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The vendor of a BMC's firmware, which is not always the machine's vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Vendor {
    /// Dell iDRAC.
    Dell,
    /// HPE iLO.
    Hpe,
    /// Lenovo XCC. Lenovo's TSM is [`Ami`](Self::Ami).
    Lenovo,
    /// Supermicro.
    Supermicro,
    /// Fujitsu iRMC.
    Fujitsu,
    /// Cisco CIMC.
    Cisco,
    /// Huawei, openUBMC.
    Huawei,
    /// NVIDIA DGX.
    Nvidia,
    /// Nokia.
    Nokia,
    /// AMI `MegaRAC`, under its own name or another.
    Ami,
    /// `OpenBMC`, under its own name or another.
    OpenBmc,
    /// A BMC without known peculiarities.
    Other,
}

impl fmt::Display for Vendor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Dell => "Dell",
            Self::Hpe => "HPE",
            Self::Lenovo => "Lenovo",
            Self::Supermicro => "Supermicro",
            Self::Fujitsu => "Fujitsu",
            Self::Cisco => "Cisco",
            Self::Huawei => "Huawei",
            Self::Nvidia => "NVIDIA",
            Self::Nokia => "Nokia",
            Self::Ami => "AMI",
            Self::OpenBmc => "OpenBMC",
            Self::Other => "unknown vendor",
        })
    }
}

/// What a BMC says about its vendor, in several places.
#[derive(Debug, Default)]
pub(super) struct Evidence<'a> {
    /// The service root's `Vendor` and `Product`.
    pub(super) root: [Option<String>; 2],
    /// The `Oem` objects of the service root and of the Manager. Their members have the names of vendors.
    pub(super) oem: [Option<&'a Value>; 2],
    /// The Manager's `Manufacturer` and `Model`.
    pub(super) manager: [Option<String>; 2],
    /// The System's `Manufacturer`.
    pub(super) system: Option<String>,
}

impl Vendor {
    /// Finds out the vendor. The firmware's vendor takes precedence over the machine's: AMI's firmware and `OpenBMC`
    /// run in the machines of many vendors.
    pub(super) fn detect(evidence: &Evidence<'_>) -> Self {
        let oem = |wanted: &str| {
            evidence
                .oem
                .iter()
                .flatten()
                .filter_map(|oem| oem.as_object())
                .any(|oem| oem.keys().any(|key| key == wanted))
        };
        if evidence.manager[1].as_ref().is_some_and(|model| contains(model, "openbmc")) || oem("OpenBmc") {
            return Self::OpenBmc;
        }
        if oem("Ami") {
            return Self::Ami;
        }
        let mut names = evidence.root.iter().chain(&evidence.manager).chain([&evidence.system]).flatten();
        if let Some(vendor) = names.find_map(|name| Self::by_name(name)) {
            return vendor;
        }
        let by_oem = [
            ("Dell", Self::Dell),
            ("Hpe", Self::Hpe),
            ("Hp", Self::Hpe),
            ("Lenovo", Self::Lenovo),
            ("Supermicro", Self::Supermicro),
            ("ts_fujitsu", Self::Fujitsu),
            ("Cisco", Self::Cisco),
            ("Huawei", Self::Huawei),
            ("Nvidia", Self::Nvidia),
        ];
        by_oem.into_iter().find(|(key, _)| oem(key)).map_or(Self::Other, |(_, vendor)| vendor)
    }

    fn by_name(name: &str) -> Option<Self> {
        let words = [
            ("dell", Self::Dell),
            ("idrac", Self::Dell),
            ("hpe", Self::Hpe),
            ("hewlett", Self::Hpe),
            ("proliant", Self::Hpe),
            ("ilo ", Self::Hpe),
            ("lenovo", Self::Lenovo),
            ("supermicro", Self::Supermicro),
            ("super micro", Self::Supermicro),
            ("fujitsu", Self::Fujitsu),
            ("fsas", Self::Fujitsu),
            ("cisco", Self::Cisco),
            ("huawei", Self::Huawei),
            ("xfusion", Self::Huawei),
            ("openubmc", Self::Huawei),
            ("nvidia", Self::Nvidia),
            ("nokia", Self::Nokia),
            ("american megatrends", Self::Ami),
            ("megarac", Self::Ami),
            ("openbmc", Self::OpenBmc),
        ];
        if name.eq_ignore_ascii_case("hp") {
            return Some(Self::Hpe);
        }
        if name.eq_ignore_ascii_case("ami") {
            return Some(Self::Ami);
        }
        words.into_iter().find(|(word, _)| contains(name, word)).map(|(_, vendor)| vendor)
    }

    /// What to check if a BMC shows no virtual media at all, or refuses it because a licence is missing.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Ami => {
                "AMI's firmware hides virtual media while remote media is disabled, often by default, or if the \
                 number of CD instances is 0: enable remote media and set the number of CD instances (1 to 4) in the \
                 BMC's web interface, or with the actions AMIVirtualMedia.EnableRMedia and \
                 AMIVirtualMedia.ConfigureCDInstance of the Manager or of the System"
            }
            Self::Supermicro => {
                "Supermicro's BMCs offer virtual media over Redfish only with a licence (a node product key such as \
                 SFT-OOB-LIC or SFT-DCMS-SINGLE). Older firmware, such as that of X10 and X11, has no slots even with \
                 the licence, only the action IsoConfig.Mount (VM1/CfgCD), which dayone does not use: update the BMC's \
                 firmware if the host has the licence"
            }
            Self::Hpe => "iLO may need a licence for virtual media (iLO Advanced)",
            Self::Dell => {
                "set the iDRAC's attribute VirtualMedia.1.Attached to Attached or AutoAttach; iDRAC may also need a \
                 licence (Enterprise or Datacenter)"
            }
            Self::Lenovo => "XCC may need a licence for virtual media by URL (XCC Enterprise or Platinum)",
            Self::Fujitsu => "iRMC may need a licence for virtual media; remote image mounting must be enabled",
            Self::Cisco | Self::Huawei | Self::Nvidia | Self::Nokia | Self::OpenBmc | Self::Other => {
                "check whether virtual media is disabled on the BMC, or needs a licence"
            }
        }
    }
}

/// The generation of an iDRAC, from its Manager's model, which begins with the machine's generation: `16G Monolithic`.
pub(super) fn idrac_generation(manager_model: Option<&str>) -> Option<u8> {
    let (machine, _) = manager_model?.split_once('G')?;
    match machine.trim().parse::<u8>().ok()? {
        12 | 13 => Some(8),
        14..=16 => Some(9),
        17.. => Some(10),
        _ => None,
    }
}

/// Whether `text` contains `word`, which is in lower case, in any case.
fn contains(text: &str, word: &str) -> bool {
    text.to_ascii_lowercase().contains(word)
}
