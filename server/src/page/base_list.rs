//! `/bases`: the bases, and what can be made from each.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use imagelib::base::Format;

use super::shell::{Shell, html};
use crate::api::bases::{AvailableBase, BaseBody, UnavailableBase, body};
use crate::api::problem::Problem;
use crate::api::{Api, blocking};
use crate::findings::FindingBody;
use crate::units::bytes;

#[derive(Template)]
#[template(path = "bases.html")]
struct BaseList<'a> {
    shell: &'a Shell,
    current: &'static str,
    bases: Vec<BaseView>,
}

#[derive(Default)]
struct BaseView {
    name: String,
    /// Why it is not available.
    unavailable: Option<String>,
    kind: &'static str,
    identity: String,
    /// Properties with their values.
    properties: Vec<(&'static str, String)>,
    formats: Vec<(String, &'static str)>,
    /// Why no image can be made from it.
    refused: Option<String>,
    findings: Vec<FindingBody>,
    files: Vec<(String, String, String)>,
}

/// Lists the bases.
pub(super) async fn bases(
    State(api): State<Arc<Api>>,
    Extension(shell): Extension<Shell>,
) -> Result<Response, Problem> {
    blocking(move || {
        let bases = api.store.bases().iter().map(|base| view(body(base))).collect();
        html(&BaseList { shell: &shell, current: "bases", bases })
    })
    .await
}

fn view(base: BaseBody) -> BaseView {
    let AvailableBase { name, details, .. } = match base {
        BaseBody::Available(base) => base,
        BaseBody::Unavailable(UnavailableBase { name, reason, .. }) => {
            return BaseView { name, unavailable: Some(reason), ..BaseView::default() };
        }
    };
    let mut properties: Vec<(&'static str, String)> = Vec::new();
    let mut add = |name, value: Option<String>| properties.extend(value.map(|value| (name, value)));
    add("Volume", details.volume_id);
    add("Delivery profile", details.profile.map(|profile| profile.to_string()));
    add("NetworkManager", details.network_manager_version.map(|version| version.to_string()));
    add("Boots as a disk", details.hybrid.map(yes_or_no));
    add("Embed area", details.embed_area.map(bytes));
    add("Area for kernel arguments", details.kernel_arguments_area.map(bytes));
    add("Kernel arguments", details.kernel_arguments);
    let features: Vec<&str> = details.features.iter().filter(|(_, present)| **present).map(|(name, _)| *name).collect();
    add("Features", Some(features.join(", ")).filter(|features| !features.is_empty()));
    let entries = details.boot_entries.unwrap_or_default();
    let titles: Vec<String> = entries.into_iter().map(|entry| entry.title).collect();
    add("Boot entries", Some(titles.join(", ")).filter(|titles| !titles.is_empty()));
    add("Evidence", Some(details.evidence.join("; ")).filter(|evidence| !evidence.is_empty()));
    add("Customised", details.customised.then(|| "yes: images need replace_embedded".to_owned()));
    BaseView {
        name,
        unavailable: None,
        kind: details.kind,
        identity: details.identity,
        properties,
        formats: details.formats.iter().map(|format| (format.to_string(), purpose(*format))).collect(),
        refused: details.not_customisable,
        findings: details.findings,
        files: details.files.into_iter().map(|(role, file)| (role, bytes(file.size), file.sha256)).collect(),
    }
}

fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

/// What a format is for.
fn purpose(format: Format) -> &'static str {
    match format {
        Format::Iso => "virtual media",
        Format::MinimalIso => "slow virtual media: the root file system comes over the network",
        Format::Usb => "virtual media that the host sees as a disk",
        Format::Initrd => "network boot",
        Format::Data => "a second slot, or a host that runs",
    }
}
