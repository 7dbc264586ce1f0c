//! Lists, shows and deletes images, and lists their embedded files and their changes.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use imagelib::image::{Change, EmbeddedFile};
use imagelib::recipe::RecipeId;
use media::reading::TakeAfter;
use serde::Serialize;
use utoipa::ToSchema;
use vocabulary::report::Report;

use super::show::{self, ImageBody, SummaryBody, summary};
use crate::api::clients::{Caller, Role};
use crate::api::parameters::{Limit, NoQuery, StrictQuery, page, query_parameters};
use crate::api::problem::{Problem, ProblemKind};
use crate::api::{Api, blocking};
use crate::audit::{Actor, Event, record_reads};
use crate::store::StoreError;

/// A page of images.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ImageList {
    /// The images, ordered by id, without their URLs, because these are credentials.
    images: Vec<SummaryBody>,
    /// The value of `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

query_parameters! {
    /// Selects images.
    pub(super) struct Page {
        /// The maximum number of images.
        #[param(value_type = Option<usize>, minimum = 1, maximum = 1000, default = 100)]
        limit: Option<Limit>,
        /// Only images after this one: the `next` of the previous page.
        #[param(value_type = Option<String>, pattern = "^[0-9a-f]{64}$")]
        after: Option<RecipeId>,
        /// Only images of the host with this name: the `label` of the image.
        host: Option<String>,
    }
}

/// List images.
#[utoipa::path(operation_id = "listImages", get, path = "/v1/images", tag = "images", security(("token" = ["read"])),
    params(Page),
    responses(
        (status = 200, description = "A page of images", body = ImageList),
        (status = 400, description = "A parameter is wrong (`wrong-parameter`)"),
    ))]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    StrictQuery(Page { limit, after, host }): StrictQuery<Page>,
) -> Json<ImageList> {
    let images = api.store.images();
    let first = after.map_or(0, |after| images.partition_point(|image| image.id() <= after));
    let images = images.iter().skip(first);
    let (page, more) = page(images.filter(|image| host.is_none() || image.label() == host.as_deref()), limit);
    let next = page.last().filter(|_| more).map(|image| image.id().to_string());
    Json(ImageList { images: page.into_iter().map(|image| summary(image)).collect(), next })
}

/// The files that are embedded in an image.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EmbeddedFiles {
    /// The files; those of the initramfs come first.
    files: Vec<EmbeddedFile>,
}

/// The differences between an image and its base.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Changes {
    /// The changes. Everything else is identical to the base, byte by byte.
    changes: Vec<Change>,
}

/// Show an image.
///
/// Clients with the role `read` do not get its URLs and its kernel arguments: these are secrets.
#[utoipa::path(operation_id = "getImage", get, path = "/v1/images/{id}", tag = "images", security(("token" = ["read"])),
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The image", body = ImageBody),
        (status = 404, description = "No image has this id (`not-found`)"),
    ))]
pub(super) async fn single(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Result<Json<ImageBody>, Problem> {
    let image = super::find(&api, &id)?;
    let mut body = show::image(&image, &api.media_url, Report::new());
    if caller.role < Role::Build {
        body.withhold_secrets();
    }
    Ok(Json(body))
}

/// Delete an image: from now on its URLs answer 404. Do this when no host boots from the image any more.
///
/// Running transfers continue. If you send the order again, you get the same image with the same URLs. The server refuses
/// to delete an image that one of its boots has inserted or is about to insert: delete the boot first.
#[utoipa::path(operation_id = "deleteImage", delete, path = "/v1/images/{id}", tag = "images",
    security(("token" = ["build"])),
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 204, description = "The image is deleted"),
        (status = 404, description = "No image has this id (`not-found`)"),
        (status = 409, description = "A boot uses the image (`image-in-use`)"),
        (status = 503, description = "The data directory is not usable (`storage-unavailable`)"),
        (status = 507, description = "The data directory is full (`storage-full`)"),
    ))]
pub(super) async fn delete(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Extension(actor): Extension<Actor>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id = super::parse_id(&id)?;
    if let Some(boot) = api.boots.of_image(&id) {
        let detail = format!(
            "the boot {boot} has inserted the image, or is about to; delete the boot first (DELETE /v1/boots/{boot})"
        );
        return Err(Problem::new(ProblemKind::ImageInUse, detail));
    }
    let store = Arc::clone(&api.store);
    // On the thread that deletes, because it runs to its end even if the client does not wait for it.
    let released = blocking(move || {
        let image = store.image(&id);
        let released = store.release(&id)?;
        if released {
            // There is none if its record cannot be read.
            if let Some(image) = &image {
                record_reads(&actor.audit, image, TakeAfter::NOW);
            }
            let host = image.and_then(|image| image.label().map(ToOwned::to_owned));
            actor.record(Event::ImageDeleted { image: id.to_string(), host });
        }
        Ok::<_, StoreError>(released)
    });
    if released.await?? { Ok(StatusCode::NO_CONTENT) } else { Err(super::unknown_id()) }
}

/// List the files that are embedded in an image, with their lengths and digests.
#[utoipa::path(operation_id = "listEmbeddedFiles", get, path = "/v1/images/{id}/files", tag = "images",
    security(("token" = ["read"])),
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The files", body = EmbeddedFiles),
        (status = 404, description = "No image has this id (`not-found`)"),
        (status = 503, description = "The base is not available (`base-unavailable`)"),
    ))]
pub(super) async fn embedded(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Path(id): Path<String>,
) -> Result<Json<EmbeddedFiles>, Problem> {
    let planned = super::planned(&api, &id)?;
    Ok(Json(EmbeddedFiles { files: planned.image.embedded.clone() }))
}

/// List the differences between an image and its base: every file and every structure, with its size before and after, and
/// the reason.
#[utoipa::path(operation_id = "listChanges", get, path = "/v1/images/{id}/changes", tag = "images",
    security(("token" = ["read"])),
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The changes", body = Changes),
        (status = 404, description = "No image has this id (`not-found`)"),
        (status = 503, description = "The base is not available (`base-unavailable`)"),
    ))]
pub(super) async fn changes(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Path(id): Path<String>,
) -> Result<Json<Changes>, Problem> {
    let planned = super::planned(&api, &id)?;
    Ok(Json(Changes { changes: planned.image.changes.clone() }))
}
