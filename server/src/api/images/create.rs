//! `POST /v1/images`

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::extract::{RawQuery, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderMap, StatusCode};
use imagelib::image::Image;
use imagelib::recipe::RootfsLocation;
use media::base_file::BaseFile;
use media::served::ETag;
use utoipa::ToSchema;

use super::build::{Understood, understand};
use super::order::{self, JsonOrder, Order, OrderQuery};
use super::show::{self, ImageBody};
use crate::api::content::{self, Content};
use crate::api::parameters::Parameters;
use crate::api::problem::{Problem, ProblemBody, ProblemKind};
use crate::api::user_documents::YamlDocuments;
use crate::api::{Api, accept, body, convert};
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
/// The body is the user's documents as they are, with all else in the query; or an `ImageRequest` in JSON. What
/// distinguishes them is the query: with `base`, or for a data image with `format=data`, the body is documents, in YAML
/// or JSON, whatever its content type; otherwise `application/json` is an `ImageRequest`.
///
/// The same request gives the same image, with the same URLs, for ever: it is answered with 201 the first time, and
/// with 200 from then on. The answer comes when the image is on the disk and served.
///
/// With `Accept: application/octet-stream` the answer is the image itself, the ISO or the initramfs, and nothing is
/// stored: the same bytes and the same entity tag that the image would have under its URL.
#[utoipa::path(operation_id = "createImage", post,
    path = "/v1/images",
    tag = "images",
    params(OrderQuery),
    request_body(description = "At most 4 MiB", content(
        (JsonOrder = "application/json"),
        (YamlDocuments = "application/yaml"),
    )),
    responses(
        (status = 201, description = "The image is made and served", body = ImageBody,
            headers(("Location" = String, description = "Path of the image"))),
        (status = 200, description = "The image was there already; or the image itself, if the client accepts that", content(
            (ImageBody = "application/json"),
            (ImageBytes = "application/octet-stream"),
        ), headers(("Location" = String, description = "Path of the image, where it is stored"))),
        (status = 400, description = "The request cannot be understood (`malformed-request`, `wrong-parameter`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 408, description = "The body did not arrive (`incomplete-request`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Stored already in a form that this version cannot go on with (`image-conflict`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large (`too-large`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "Not a content type that is read here (`unsupported-media-type`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "Understood, and impossible (`documents-refused`, `no-host`, `several-hosts`, `unknown-host`, `unknown-base`, `does-not-fit`, `image-refused`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The base is not there at the moment (`base-unavailable`), or the data directory cannot be used (`storage-unavailable`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The data directory is full (`storage-full`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let result = answer(&api, query.as_deref(), head.headers, body).await;
    result.inspect_err(|problem| api.metrics.build_refused(problem.kind().slug()))
}

async fn answer(api: &Arc<Api>, query: Option<&str>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let query = Parameters::new(query);
    let order = match content::of(&headers, query.has(order::is_order))? {
        Content::Request => {
            query.finish().map_err(|problem| problem.with_more("a request in JSON has everything in its body"))?;
            None
        }
        Content::Documents => Some(Order::from_query(query)?),
    };
    let whole = accept::preferred(&headers, &[JSON, IMAGE]) == IMAGE;
    let body = body::read(body).await?;
    let started = Instant::now();
    let shared = Arc::clone(api);
    // Converting takes a fraction of a millisecond for one host, and much longer for documents of 4 MiB.
    let response = convert(api, body.len(), move || {
        let order = match order {
            None => Order::from_json(&body)?,
            Some(order) => Order { documents: Some(body.clone().into()), ..order },
        };
        let understood = understand(&shared.store, &shared.media_url, order);
        let understood = understood.map_err(|problem| content::hint(problem, &headers, &body))?;
        if whole { stream(&shared, understood) } else { publish(&shared, understood) }
    })
    .await?;
    if response.is_ok() {
        api.metrics.built(started.elapsed());
    }
    response
}

fn publish(api: &Api, mut understood: Understood) -> Result<Response, Problem> {
    let report = std::mem::take(&mut understood.report);
    let (image, publication) = understood.seal().publish(&api.store)?;
    let status = match publication {
        Publication::Created => StatusCode::CREATED,
        Publication::Existing => StatusCode::OK,
    };
    let location = format!("/v1/images/{}", image.id());
    Ok((status, [(LOCATION, location)], Json(show::image(&image, &api.media_url, report))).into_response())
}

/// The image itself. Its warnings have no place in the answer.
fn stream(api: &Api, understood: Understood) -> Result<Response, Problem> {
    let Understood { open, recipe, .. } = understood;
    if let Some(RootfsLocation::MediaPlane(_)) = recipe.rootfs {
        let detail = "an image that is not stored has no root file system beside it; say where that is (rootfs_url), or \
                      let the image be stored, without Accept: application/octet-stream";
        return Err(Problem::new(ProblemKind::ImageRefused, detail));
    }
    let mut image = Image::plan(&recipe, &open.base, open.identity)?;
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
    let body = api.media.whole(Arc::new(part), Arc::new(files));
    let headers = [
        (CONTENT_TYPE, IMAGE.to_owned()),
        (CONTENT_LENGTH, size.to_string()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (ETAG, etag.to_string()),
    ];
    Ok((headers, Body::new(body)).into_response())
}
