//! `/bases`: the bases, and what can be made from each.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use imagelib::base::Format;

use super::shell::{Shell, html};
use crate::api::bases::{AvailableBase, BaseBody, BaseOrigin, UnavailableBase, bodies};
use crate::api::problem::Problem;
use crate::api::{Api, blocking};
use crate::bases::Phase;
use crate::findings::FindingBody;
use crate::units::{self, bytes};

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
    /// How far the server is with fetching it, or its next version.
    fetch: Option<FetchView>,
    /// Who uses it, and its earlier versions.
    users: Vec<String>,
}

struct FetchView {
    /// What the server does, in a word.
    word: &'static str,
    failed: bool,
    /// How much has arrived.
    arrived: String,
    /// For a bar: how much of a whole of 100.
    percent: Option<u64>,
    /// What goes wrong.
    error: Option<String>,
}

/// Lists the bases.
pub(super) async fn bases(
    State(api): State<Arc<Api>>,
    Extension(shell): Extension<Shell>,
) -> Result<Response, Problem> {
    blocking(move || {
        let bases = bodies(&api).into_iter().map(view).collect();
        html(&BaseList { shell: &shell, current: "bases", bases })
    })
    .await
}

fn view(base: BaseBody) -> BaseView {
    let AvailableBase { name, details, origin, .. } = match base {
        BaseBody::Available(base) => base,
        BaseBody::Unavailable(UnavailableBase { name, reason, origin, .. }) => {
            let (fetch, users) = (fetch(&origin), users(&origin));
            return BaseView { name, unavailable: Some(reason), fetch, users, ..BaseView::default() };
        }
    };
    let mut properties: Vec<(&'static str, String)> = Vec::new();
    let mut add = |name, value: Option<String>| properties.extend(value.map(|value| (name, value)));
    add("Volume", details.volume_id);
    add("Delivery profile", details.profile.map(|profile| profile.to_string()));
    add("NetworkManager", details.network_manager_version.map(|version| version.to_string()));
    add("Boots as a disk", details.hybrid.map(yes_or_no));
    add("Secure Boot", details.secure_boot.map(|found| format!("{}: {}", found.verdict, found.reason)));
    add("HTTP boot", details.http_boot.map(|found| format!("{}: {}", found.verdict, found.reason)));
    add("Minimal ISO", details.minimal_iso.map(|found| format!("{}: {}", found.verdict, found.reason)));
    let reads = details.medium_reads.iter().map(units::medium_reads).collect::<Vec<_>>().join("; ");
    add("A BMC reads", Some(reads).filter(|reads| !reads.is_empty()));
    add("Embed area", details.embed_area.map(bytes));
    add("Area for kernel arguments", details.kernel_arguments_area.map(bytes));
    add("Kernel arguments", details.kernel_arguments);
    let features: Vec<&str> = details.features.iter().filter(|(_, present)| **present).map(|(name, _)| *name).collect();
    add("Features", Some(features.join(", ")).filter(|features| !features.is_empty()));
    let entries = details.boot_entries.unwrap_or_default();
    let titles: Vec<String> = entries.into_iter().map(|entry| entry.title).collect();
    add("Boot entries", Some(titles.join(", ")).filter(|titles| !titles.is_empty()));
    let keys = |keys: Vec<u8>| keys.iter().map(|key| format!("{key:#x}")).collect::<Vec<_>>().join(", ");
    add("Values in META", details.talos_meta.filter(|keys| !keys.is_empty()).map(keys));
    add("Evidence", Some(details.evidence.join("; ")).filter(|evidence| !evidence.is_empty()));
    let customised = match (details.customised, &details.not_customisable) {
        (true, None) => Some("yes: images need replace_embedded".to_owned()),
        (true, Some(_)) => Some("yes".to_owned()),
        (false, _) => None,
    };
    add("Customised", customised);
    BaseView {
        name,
        unavailable: None,
        kind: details.kind,
        identity: details.identity,
        properties,
        formats: details.formats.iter().map(|format| (format.to_string(), purpose(*format))).collect(),
        refused: details.not_customisable,
        findings: details.findings,
        fetch: fetch(&origin),
        users: users(&origin),
        files: details.files.into_iter().map(|(role, file)| (role, bytes(file.size), file.sha256)).collect(),
    }
}

fn fetch(origin: &BaseOrigin) -> Option<FetchView> {
    let fetch = origin.fetch.as_ref()?;
    let word = match fetch.state {
        Phase::Queued => "queued",
        Phase::Fetching => "being fetched",
        Phase::Verifying => "being verified",
        Phase::Failed => "not fetched",
    };
    let arrived = match fetch.total {
        Some(total) => format!("{} of {}", bytes(fetch.bytes), bytes(total)),
        None => bytes(fetch.bytes),
    };
    let percent = fetch.total.filter(|total| *total > 0).map(|total| fetch.bytes.saturating_mul(100) / total);
    Some(FetchView { word, failed: fetch.state == Phase::Failed, arrived, percent, error: fetch.error.clone() })
}

/// Who uses a base, in sentences.
fn users(origin: &BaseOrigin) -> Vec<String> {
    let count = |images: usize, transfers: usize| {
        let images = if images == 1 { "1 image".to_owned() } else { format!("{images} images") };
        match transfers {
            0 => images,
            1 => format!("{images}, 1 transfer under way"),
            _ => format!("{images}, {transfers} transfers under way"),
        }
    };
    let mut users = vec![count(origin.images, origin.transfers)];
    for earlier in &origin.replaced {
        users.push(format!("the earlier version {}: {}", earlier.identity, count(earlier.images, earlier.transfers)));
    }
    users
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
