//! `/images/{id}`: one image, what is in it, and what was read of it.

use std::sync::Arc;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use imagelib::image::{Change, EmbeddedFile};
use imagelib::secure_boot::{SecureBoot, Verdict};
use vocabulary::report::Report;

use super::image_list::name;
use super::moment::Moment;
use super::piece::single;
use super::reading::ReadView;
use super::shell::{Shell, html, missing};
use crate::api::images::show::{self, ImageBody};
use crate::api::problem::Problem;
use crate::api::{Api, blocking};
use crate::live::Content;
use crate::store::StoredImage;
use crate::units::bytes;

/// The maximum number of files, changes and boots in the view. The API has all.
const MAX_ROWS: usize = 200;

#[derive(Template)]
#[template(path = "image.html")]
struct ImagePage<'a> {
    shell: &'a Shell,
    current: &'static str,
    name: String,
    created: Moment,
    image: ImageBody,
    size: String,
    files: Vec<File>,
    reading: Reading,
    embedded: Vec<Embedded>,
    more_embedded: usize,
    changes: Vec<Changed>,
    more_changes: usize,
    secure_boot: Option<Arc<SecureBoot>>,
    /// Whether the server can draw the host's network.
    has_picture: bool,
    boots: Vec<(String, String)>,
}

struct File {
    name: &'static str,
    size: String,
    url: String,
    etag: String,
}

struct Embedded {
    path: String,
    delivered_by: String,
    mode: String,
    size: String,
    sha256: String,
}

struct Changed {
    subject: String,
    action: String,
    sizes: String,
    why: String,
}

/// What was read of the image.
#[derive(Template)]
#[template(path = "reading.html")]
struct Reading {
    read: ReadView,
}

impl HtmlSafe for Reading {}

/// Shows an image.
pub(super) async fn image(
    State(api): State<Arc<Api>>,
    Extension(shell): Extension<Shell>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    blocking(move || match find(&api, &id) {
        Some(image) => html(&page(&api, &shell, &image)),
        None => missing(&shell, "No image has this id: it was never made, or it was deleted."),
    })
    .await
}

/// The parts that change while the view is open.
pub(super) fn content(api: &Api, id: &str) -> Option<Content> {
    Some(single("reading", &Reading { read: ReadView::of(&*find(api, id)?) }))
}

fn find(api: &Api, id: &str) -> Option<Arc<StoredImage>> {
    api.store.image(&id.parse().ok()?)
}

fn page<'a>(api: &Api, shell: &'a Shell, image: &StoredImage) -> ImagePage<'a> {
    let mut body = show::image(image, &api.media_url, Report::new());
    if !shell.may_build() {
        body.withhold_secrets();
    }
    let planned = image.available();
    let (embedded, changes) = planned
        .as_ref()
        .map_or((&[][..], &[][..]), |planned| (&planned.image.embedded[..], &planned.image.changes[..]));
    let id = image.id();
    let boots = api.boots.all().into_iter().map(|boot| boot.record()).filter(|record| record.image == id);
    let file = |(name, file): (&&'static str, &show::FileBody)| File {
        name,
        size: bytes(file.size),
        url: file.url.clone().unwrap_or_default(),
        etag: file.etag.clone(),
    };
    ImagePage {
        shell,
        current: "images",
        name: name(&body.summary),
        created: Moment::of(body.summary.created.clone()),
        size: body.summary.size.map(bytes).unwrap_or_default(),
        files: body.files.iter().map(file).collect(),
        reading: Reading { read: ReadView::of(image) },
        embedded: embedded.iter().take(MAX_ROWS).map(embedded_file).collect(),
        more_embedded: embedded.len().saturating_sub(MAX_ROWS),
        changes: changes.iter().take(MAX_ROWS).map(changed).collect(),
        more_changes: changes.len().saturating_sub(MAX_ROWS),
        secure_boot: planned.as_ref().and_then(|planned| planned.secure_boot()),
        has_picture: image.has_keyfiles(),
        boots: boots.take(MAX_ROWS).map(|record| (record.id.to_string(), record.state.to_string())).collect(),
        image: body,
    }
}

fn embedded_file(file: &EmbeddedFile) -> Embedded {
    let delivered_by = serde_json::to_value(file.delivered_by).ok();
    Embedded {
        path: file.path.clone(),
        delivered_by: delivered_by.as_ref().and_then(|value| value.as_str()).unwrap_or_default().to_owned(),
        mode: file.mode.clone(),
        size: bytes(file.size),
        sha256: file.sha256.to_string(),
    }
}

fn changed(change: &Change) -> Changed {
    let sizes = match (change.old_size, change.new_size) {
        (Some(old), Some(new)) if old == new => bytes(new),
        (Some(old), Some(new)) => format!("{} → {}", bytes(old), bytes(new)),
        (None, Some(size)) | (Some(size), None) => bytes(size),
        (None, None) => String::new(),
    };
    Changed { subject: change.subject.clone(), action: change.action.clone(), sizes, why: change.why.clone() }
}
