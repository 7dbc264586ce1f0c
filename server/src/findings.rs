//! Findings as JSON: one form for the API and for the commands.

use hosts::network::NetworkManagerVersion;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use vocabulary::report::{Finding, Position, Report, Severity, explain};

/// One thing about the user's documents that the user should know.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Finding)]
pub(crate) struct FindingBody {
    /// `error`: the image is not made. `warning`: it is, and this should be known.
    #[schema(value_type = String, example = "error")]
    severity: Severity,
    /// A stable name of this kind of finding.
    #[schema(example = "interface-name-too-long")]
    code: &'static str,
    /// Where in the documents: a colon separates documents, a dot keys.
    #[schema(example = "Secret/worker-0-network: stringData.nmstate: interfaces[0].name")]
    path: String,
    /// The whole sentence, path included.
    message: String,
    /// Where that is in the text that was handed over, if it is found there.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Position>,
    /// What will happen on the host.
    effect: &'static str,
    /// How to fix it.
    fix: &'static str,
}

/// The findings of `report`, in their order.
pub(crate) fn findings(report: &Report) -> Vec<FindingBody> {
    let body = |finding: &Finding| {
        let explanation = explain(finding.code);
        FindingBody {
            severity: finding.severity,
            code: finding.code,
            path: finding.path.to_string(),
            message: finding.to_string(),
            position: finding.position.clone(),
            effect: explanation.map_or("", |explanation| explanation.effect),
            fix: explanation.map_or("", |explanation| explanation.fix),
        }
    };
    report.findings().iter().map(body).collect()
}

/// Serializes a report as its [`FindingBody`]s.
pub(crate) fn serialize<S: Serializer>(report: &Report, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings(report))
}

/// A release of NetworkManager.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckedNetworkManager)]
pub(crate) struct NetworkManagerBody {
    /// Its number.
    #[schema(value_type = String, example = "1.54.0")]
    version: NetworkManagerVersion,
    /// Whether it is only assumed: the request or the command names neither it nor a base that shows which it has.
    assumed: bool,
}

impl NetworkManagerBody {
    /// The given release, or the one that dayone assumes.
    pub(crate) fn checked_for(release: Option<NetworkManagerVersion>) -> Self {
        Self { version: release.unwrap_or(NetworkManagerVersion::ASSUMED), assumed: release.is_none() }
    }
}
