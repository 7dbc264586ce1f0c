//! Who made a BMC, as far as that changes what it is sent. `docs/bmcs.md` says by whom each of it is known.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Whose firmware answers.
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
    /// NVIDIA.
    Nvidia,
    /// Nokia.
    Nokia,
    /// AMI `MegaRAC`, under its own name or another.
    Ami,
    /// `OpenBMC`, under its own name or another.
    OpenBmc,
    /// One of which nothing special is known.
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

/// What a BMC says of its maker, in several places.
#[derive(Debug, Default)]
pub(super) struct Evidence<'a> {
    /// The service root's `Vendor` and `Product`.
    pub(super) root: [Option<&'a str>; 2],
    /// The `Oem` objects of the service root and of the Manager: their names are makers'.
    pub(super) oem: [Option<&'a Value>; 2],
    /// The Manager's `Manufacturer` and `Model`.
    pub(super) manager: [Option<&'a str>; 2],
    /// The System's `Manufacturer`.
    pub(super) system: Option<&'a str>,
}

impl Vendor {
    /// The vendor by what the BMC says. The firmware's maker goes before the machine's: AMI's firmware runs in many
    /// makers' machines, and `OpenBMC`, too.
    pub(super) fn detect(evidence: &Evidence<'_>) -> Self {
        let oem = |wanted: &str| {
            evidence
                .oem
                .iter()
                .flatten()
                .filter_map(|oem| oem.as_object())
                .any(|oem| oem.keys().any(|key| key == wanted))
        };
        if evidence.manager[1].is_some_and(|model| contains(model, "openbmc")) || oem("OpenBmc") {
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

    /// What to look at where a BMC shows no virtual media at all, or refuses for want of a licence.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Ami => {
                "AMI's firmware hides the devices when their number is 0: set the CD instances (0 to 4) in the BMC's web \
                 interface, or with the action AMIVirtualMedia.ConfigureCDInstance of the Manager"
            }
            Self::Supermicro => {
                "Supermicro's BMCs offer virtual media over Redfish with a licence only (a node product key such as \
                 SFT-OOB-LIC or SFT-DCMS-SINGLE)"
            }
            Self::Hpe => "iLO may need a licence for virtual media (iLO Advanced)",
            Self::Dell => {
                "iDRAC needs its attribute VirtualMedia.1.Attached at Attached or AutoAttach, and may need a licence \
                 (Enterprise or Datacenter)"
            }
            Self::Lenovo => "XCC may need a licence for virtual media by URL (XCC Enterprise or Platinum)",
            Self::Fujitsu => "iRMC may need a licence for virtual media, and remote image mounting enabled",
            Self::Cisco | Self::Huawei | Self::Nvidia | Self::Nokia | Self::OpenBmc | Self::Other => {
                "see whether the BMC has virtual media disabled, or needs a licence for it"
            }
        }
    }
}

/// The generation of an iDRAC by its Manager's model, which begins with the machine's: `16G Monolithic`.
pub(super) fn idrac_generation(manager_model: Option<&str>) -> Option<u8> {
    let (machine, _) = manager_model?.split_once('G')?;
    match machine.trim().parse::<u8>().ok()? {
        12 | 13 => Some(8),
        14..=16 => Some(9),
        17.. => Some(10),
        _ => None,
    }
}

/// Without regard to case.
pub(super) fn contains(text: &str, word: &str) -> bool {
    text.to_ascii_lowercase().contains(word)
}
