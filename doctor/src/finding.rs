//! What an examination finds.

use std::fmt;

use serde::{Serialize, Serializer};

use super::evidence::Evidence;
use super::http::Answer;

/// How much a [`Finding`] weighs. The order is that of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Some reader may have trouble, or has more work than need be.
    Warning,
    /// A reader that is known would fail.
    Fails,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Fails => "fails",
        })
    }
}

/// A reader of virtual media, or a family of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// Whatever reads images.
    Everyone,
    /// Those that check the server's certificate.
    Verifying,
    /// Those that reached the doctor's readers as reports only, without a maker's name.
    SomeFirmware,
    /// nbdkit's curl plugin.
    Nbdkit,
    /// `OpenBMC`: bmcweb, and Intel's virtual-media behind it.
    OpenBmc,
    /// Huawei's and others' BMCs on `openUBMC`.
    OpenUbmc,
    /// QEMU's block driver for HTTP.
    Qemu,
    /// sushy-tools, the Redfish emulator.
    SushyTools,
    /// `OpenStack` Ironic, and Metal3 with it.
    Ironic,
    /// Dell's iDRAC.
    Idrac,
    /// HPE's iLO.
    Ilo,
    /// Supermicro's BMCs.
    Supermicro,
    /// NVIDIA's DGX.
    Dgx,
    /// Quanta's BMCs on `OpenBMC`.
    Quanta,
}

impl Reader {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Everyone => "every reader",
            Self::Verifying => "readers that check certificates",
            Self::SomeFirmware => "firmware of some vendors",
            Self::Nbdkit => "nbdkit",
            Self::OpenBmc => "OpenBMC",
            Self::OpenUbmc => "openUBMC",
            Self::Qemu => "QEMU",
            Self::SushyTools => "sushy-tools",
            Self::Ironic => "Ironic",
            Self::Idrac => "Dell iDRAC",
            Self::Ilo => "HPE iLO",
            Self::Supermicro => "Supermicro",
            Self::Dgx => "NVIDIA DGX",
            Self::Quanta => "Quanta",
        }
    }
}

impl Serialize for Reader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One thing that a reader would stumble over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// A stable name, such as `accept-ranges-missing`.
    pub code: &'static str,
    /// What is so, as a sentence.
    pub message: String,
    /// Whom it affects.
    pub affects: Vec<Reader>,
    /// How it showed; none for what the URL alone says.
    pub evidence: Option<Evidence>,
    /// What to do about it.
    pub advice: &'static str,
}

impl Finding {
    /// A known reader would fail.
    pub(super) fn fails(code: &'static str, affects: &[Reader], message: impl Into<String>) -> Self {
        Self::new(Severity::Fails, code, affects, message.into())
    }

    /// Some reader may have trouble.
    pub(super) fn warning(code: &'static str, affects: &[Reader], message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, affects, message.into())
    }

    fn new(severity: Severity, code: &'static str, affects: &[Reader], message: String) -> Self {
        Self { severity, code, message, affects: affects.to_vec(), evidence: None, advice: "" }
    }

    /// The answer that shows it.
    #[must_use]
    pub(super) fn seen(mut self, answer: &Answer) -> Self {
        self.evidence = Some(answer.evidence());
        self
    }

    /// What to do about it.
    #[must_use]
    pub(super) fn advice(mut self, advice: &'static str) -> Self {
        self.advice = advice;
        self
    }
}

/// What one reader, or one set of rules, makes of the URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// A stable name, such as `nbdkit`.
    pub name: &'static str,
    /// What is played, for people.
    pub title: &'static str,
    /// The weight of the heaviest finding.
    pub outcome: Severity,
    /// What was found; nothing where all is as it should be.
    pub findings: Vec<Finding>,
}

impl Examination {
    pub(super) fn new(name: &'static str, title: &'static str, findings: Vec<Finding>) -> Self {
        let outcome = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Ok);
        Self { name, title, outcome, findings }
    }
}
