//! The findings of an examination.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use serde::{Serialize, Serializer};

use super::evidence::Evidence;
use super::http::Answer;

/// The severity of a [`Finding`], in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// No problem.
    Ok,
    /// The doctor cannot tell.
    Unknown,
    /// Some reader may fail, or has more work than necessary.
    Warning,
    /// A known reader would fail.
    Fails,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Fails => "fails",
        })
    }
}

/// A reader of virtual media, or a family of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// All readers.
    Everyone,
    /// Readers that verify the server's certificate.
    Verifying,
    /// Firmware that is known only from reports, without a vendor's name.
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
    /// Firmware that boots by HTTP, as EDK2 does.
    UefiHttp,
}

impl Reader {
    /// The reader's name, for people.
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
            Self::UefiHttp => "UEFI HTTP boot",
        }
    }
}

impl Serialize for Reader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One problem for some readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// A stable name, such as `accept-ranges-missing`.
    pub code: &'static str,
    /// The problem, as a sentence.
    pub message: String,
    /// The readers that it affects.
    pub affects: Vec<Reader>,
    /// The request and the answer that show it. `None` if the URL alone shows it.
    pub evidence: Option<Evidence>,
    /// What to do. Empty if there is nothing to recommend.
    pub advice: Cow<'static, str>,
}

impl Finding {
    /// Makes a finding about this machine, which no reader's answer shows.
    pub fn local(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(severity, code, &[], message.into())
    }

    /// Makes a finding: the doctor cannot tell something.
    pub(super) fn unknown(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Unknown, code, &[], message.into())
    }

    /// Makes a finding: a known reader would fail.
    pub(super) fn fails(code: &'static str, affects: &[Reader], message: impl Into<String>) -> Self {
        Self::new(Severity::Fails, code, affects, message.into())
    }

    /// Makes a finding: some reader may fail.
    pub(super) fn warning(code: &'static str, affects: &[Reader], message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, affects, message.into())
    }

    /// Makes the finding that the server refuses HEAD.
    pub(super) fn head_refused(affects: &[Reader], answer: &Answer) -> Self {
        let message = format!("the server answers HEAD with {}", answer.status.as_u16());
        let finding = Self::fails("head-refused", affects, message).seen(answer);
        finding.advice("configure the server to answer HEAD like GET, without the body")
    }

    fn new(severity: Severity, code: &'static str, affects: &[Reader], message: String) -> Self {
        Self { severity, code, message, affects: affects.to_vec(), evidence: None, advice: Cow::Borrowed("") }
    }

    /// Adds the answer that shows the problem.
    #[must_use]
    pub(super) fn seen(mut self, answer: &Answer) -> Self {
        self.evidence = Some(answer.evidence());
        self
    }

    /// Adds the address that it is about.
    #[must_use]
    pub(super) fn at(mut self, address: SocketAddr) -> Self {
        self.message = format!("at {address}: {}", self.message);
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<Cow<'static, str>>) -> Self {
        self.advice = advice.into();
        self
    }
}

/// The result of one examination: of one imitated reader, or of one set of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// A stable name, such as `nbdkit`.
    pub name: &'static str,
    /// The title, for people.
    pub title: &'static str,
    /// The highest severity of the findings.
    pub outcome: Severity,
    /// The findings. Empty if there is no problem.
    pub findings: Vec<Finding>,
}

impl Examination {
    /// Makes an examination. Its outcome is the highest severity of the findings. A finding that repeats an earlier one is left out: a
    /// server makes some mistakes in each of its answers.
    pub fn new(name: &'static str, title: &'static str, mut findings: Vec<Finding>) -> Self {
        let mut known = BTreeSet::new();
        findings.retain(|finding| known.insert((finding.code, finding.message.clone())));
        let outcome = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Ok);
        Self { name, title, outcome, findings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_that_repeats_another_is_left_out() {
        let finding = |message: &str| Finding::warning("range-without-length", &[Reader::Idrac], message);
        let findings = vec![finding("one"), finding("two"), finding("one"), finding("one")];
        let examination = Examination::new("many-ranges", "", findings);
        assert_eq!(examination.findings, [finding("one"), finding("two")]);
        assert_eq!(examination.outcome, Severity::Warning);
    }
}
