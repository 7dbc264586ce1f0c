//! `POST /v1/images`

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderMap, StatusCode};
use imagelib::image::Image;
use imagelib::recipe::RootfsLocation;
use media::base_file::BaseFile;
use media::served::ETag;
use utoipa::ToSchema;

use super::build::{Draft, draft};
use super::create_all::{AllHosts, HostImages};
use super::order::{Hosts, ImageRequest, Order, OrderQuery};
use super::show::{self, ImageBody};
use crate::api::problem::{Problem, ProblemKind};
use crate::api::request::Received;
use crate::api::user_documents::{WorkbookDocuments, YamlDocuments};
use crate::api::{Api, accept, blocking};
use crate::audit::{Actor, Event};
use crate::store::Publication;

const JSON: &str = "application/json";
const IMAGE: &str = "application/octet-stream";

/// The bytes of an image.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "describes bytes, which have no type")]
struct ImageBytes(Vec<u8>);

/// Make an image for a host.
///
/// Send the user's documents unchanged, with everything else in the query; or send an `ImageRequest` in JSON. The query
/// distinguishes them. With `base`, or for a data image with `format=data`, the body is documents in YAML or JSON, or an
/// Excel workbook, whatever its content type. Otherwise a body with the content type `application/json` is an `ImageRequest`.
///
/// The same request always gives the same image with the same URLs. The server answers 201 the first time, and 200 after
/// that. It answers when the image is on disk and served.
///
/// `ttl`, `max_reads` and `only_from` limit the access to the image, and are not part of it. The limits of the last request
/// for an image are valid: they replace the earlier ones, and count from the beginning.
///
/// With `Accept: application/octet-stream`, the answer is the image itself (the ISO or the initramfs), and the server stores
/// nothing. The bytes and the entity tag are the same as under the image's URL.
///
/// With `hosts=all`, the answer is 207 and has a member for each host in the documents: its image or its problem. Errors of one
/// host do not affect the others. An error that may concern every host, such as a document that is not YAML, is a problem of the
/// whole request.
#[utoipa::path(operation_id = "createImage", post, path = "/v1/images", tag = "images", security(("token" = ["build"])),
    params(OrderQuery),
    request_body(description = "At most 4 MiB", content(
        (ImageRequest = "application/json"),
        (YamlDocuments = "application/yaml"),
        (WorkbookDocuments = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    )),
    responses(
        (status = 201, description = "The image is published", body = ImageBody,
            headers(("Location" = String, description = "The path of the image"))),
        (status = 200, description = "The image was published before; or the image itself, if the client accepts that", content(
            (ImageBody = "application/json"),
            (ImageBytes = "application/octet-stream"),
        ), headers(("Location" = String, description = "The path of the image, if it is stored"))),
        (status = 207, description = "An answer for each host, with `hosts=all`", body = HostImages),
        (status = 409, description = "Another version of dayone has stored the image in a form that this version cannot use (`image-conflict`)"),
        (status = 422, description = "dayone cannot make the image (`documents-refused`, `no-host`, `several-hosts`, `unknown-host`, `unknown-base`, `does-not-fit`, `image-refused`)"),
        (status = 503, description = "The base is not available (`base-unavailable`), or the data directory is not usable (`storage-unavailable`)"),
        (status = 507, description = "The data directory is full (`storage-full`)"),
    ))]
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    Extension(actor): Extension<Actor>,
    headers: HeaderMap,
    request: Result<Received<Order>, Problem>,
) -> Result<Response, Problem> {
    let result = answer(&api, &actor, &headers, request).await;
    result.inspect_err(|problem| api.metrics.build_refused(problem.kind().slug()))
}

async fn answer(
    api: &Arc<Api>,
    actor: &Actor,
    headers: &HeaderMap,
    request: Result<Received<Order>, Problem>,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let streams = accept::preferred(headers, &[JSON, IMAGE]) == IMAGE;
    let (shared, orderer) = (Arc::clone(api), actor.clone());
    let made = request?.process(api, move |order| {
        if order.request.hosts == Some(Hosts::All) {
            return if streams {
                Err(several_streams())
            } else {
                AllHosts::prepare(&shared.store, order).map(|all| Made::All(Box::new(all)))
            };
        }
        if streams && !order.limits.is_empty() {
            return Err(limited_stream());
        }
        let draft = draft(&shared.store, &shared.media_url, order)?;
        if streams { stream(&shared, &orderer, draft).map(Made::Stream) } else { Ok(Made::One(Box::new(draft))) }
    });
    let response = match made.await? {
        Made::Stream(response) => response,
        // Not in the queue, which is for processors: this waits for the disk, together with other requests.
        Made::One(draft) => {
            let (shared, orderer) = (Arc::clone(api), actor.clone());
            blocking(move || publish(&shared, &orderer, *draft)).await??
        }
        Made::All(hosts) => hosts.publish(api, actor).await?,
    };
    api.metrics.built(started.elapsed());
    Ok(response)
}

/// What a request gives.
enum Made {
    /// The answer that is the image itself.
    Stream(Response),
    /// An image that is not published yet.
    One(Box<Draft>),
    /// Hosts whose images are not published yet.
    All(Box<AllHosts>),
}

fn several_streams() -> Problem {
    let detail =
        "hosts: an answer can be the image of one host only; leave out hosts, or Accept: application/octet-stream";
    Problem::new(ProblemKind::WrongParameter, detail)
}

fn limited_stream() -> Problem {
    let detail = "ttl, max_reads, only_from: they limit the access to an image that the server stores; leave them out, or Accept: \
                  application/octet-stream";
    Problem::new(ProblemKind::WrongParameter, detail)
}

fn publish(api: &Api, actor: &Actor, mut draft: Draft) -> Result<Response, Problem> {
    let report = std::mem::take(&mut draft.report);
    let (image, publication) = draft.seal(&api.store)?.publish(&api.store)?;
    actor.record(show::ordered(&image, publication));
    let status = match publication {
        Publication::Created => StatusCode::CREATED,
        Publication::Existing => StatusCode::OK,
    };
    let location = format!("/v1/images/{}", image.id());
    Ok((status, [(LOCATION, location)], Json(show::image(&image, &api.media_url, report))).into_response())
}

/// Answers with the image itself. There is no place for its warnings.
fn stream(api: &Api, actor: &Actor, draft: Draft) -> Result<Response, Problem> {
    let Draft { open, recipe, label, .. } = draft;
    if let Some(RootfsLocation::MediaPlane(_)) = recipe.rootfs {
        let detail = "this server has no URL for the root file system of an image that it does not store: give rootfs_url, or \
                      store the image (leave out Accept: application/octet-stream)";
        return Err(Problem::new(ProblemKind::ImageRefused, detail));
    }
    let recipe = api.store.seal(recipe, &open)?;
    let mut image = Image::plan(recipe.recipe(), &open.base, open.identity)?;
    let main = image.main_file().map(|(name, _)| name);
    let planned = main.and_then(|name| Some((name, image.files.remove(&name)?)));
    let planned = planned.and_then(|(name, part)| Some((name, open.identity_of(&part)?, part)));
    let Some((name, identity, part)) = planned else {
        return Err(Problem::internal("an image without a main file"));
    };
    let files = open.files_of(&part);
    files.values().try_for_each(BaseFile::check_in_time).map_err(|error| {
        Problem::new(ProblemKind::BaseUnavailable, "the base is not available at the moment").with_cause(error)
    })?;
    let etag = ETag::new(&identity);
    let size = part.size();
    actor.record(Event::ImageStreamed { image: recipe.id().to_string(), host: label });
    let body = api.media.whole(Arc::new(part), Arc::new(files));
    let headers = [
        (CONTENT_TYPE, IMAGE.to_owned()),
        (CONTENT_LENGTH, size.to_string()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (ETAG, etag.to_string()),
    ];
    Ok((headers, Body::new(body)).into_response())
}
