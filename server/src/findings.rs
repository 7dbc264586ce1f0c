//! Findings as JSON, for the API and the commands.

use hosts::network::NetworkManagerVersion;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use vocabulary::report::{Finding, Position, Report, Severity, explain};

/// A mistake or a doubtful setting in the user's documents.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Finding)]
pub(crate) struct FindingBody {
    /// `error`: dayone makes no image. `warning`: dayone makes the image, and you should check the finding.
    #[schema(value_type = String, example = "error")]
    pub(crate) severity: Severity,
    /// The stable name of this kind of finding.
    #[schema(example = "interface-name-too-long")]
    pub(crate) code: &'static str,
    /// The path in the documents: a colon separates documents, a dot separates keys.
    #[schema(example = "Secret/worker-0-network: stringData.nmstate: interfaces[0].name")]
    pub(crate) path: String,
    /// The message, including the path.
    pub(crate) message: String,
    /// The position in the text, if dayone finds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<Position>,
    /// What will happen on the host.
    pub(crate) effect: &'static str,
    /// How to fix it.
    pub(crate) fix: &'static str,
}

/// Returns the findings of `report`, in their order.
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
            fix: finding.fix(),
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
    /// The version.
    #[schema(value_type = String, example = "1.54.0")]
    pub(crate) version: NetworkManagerVersion,
    /// Whether dayone assumes this version, because the request or command names neither a version nor a base that shows one.
    pub(crate) assumed: bool,
}

impl NetworkManagerBody {
    /// Describes the given release, or the one that dayone assumes.
    pub(crate) fn checked_for(release: Option<NetworkManagerVersion>) -> Self {
        Self { version: release.unwrap_or(NetworkManagerVersion::ASSUMED), assumed: release.is_none() }
    }
}
