//! `POST /v1/boots`

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{RawQuery, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::order::{self, BootOrder, BootQuery, JsonBootOrder};
use super::prepare::{Prepared, prepare};
use super::show::{self, BootBody};
use crate::api::content::{self, Content};
use crate::api::images::{OrderQuery, Sealed};
use crate::api::parameters::Parameters;
use crate::api::problem::{Problem, ProblemBody};
use crate::api::user_documents::YamlDocuments;
use crate::api::{Api, blocking, body, convert};
use crate::boots::{Boot, NewBoot};
use crate::findings::{FindingBody, findings};
use crate::store::{Publication, Store, StoreError, StoredImage};

/// The boots that were begun.
#[derive(Serialize, ToSchema)]
pub(super) struct BegunBoots {
    /// One for each host, in the order of the documents.
    boots: Vec<BootBody>,
    /// What should be known about the documents.
    findings: Vec<FindingBody>,
}

/// Boot hosts: make their images, have their BMCs insert them and boot from them once, and watch until they have booted.
///
/// The body is the user's documents as they are, with all else in the query; or a `BootRequest` in JSON. Which it is, is
/// told as for images: with `base` or `image` in the query, the body is documents.
///
/// Each host in the documents gets a boot of its own, unless `host` names one. Either all boots are begun or none. The
/// answer comes when they are recorded; what becomes of them is at `/v1/boots/{id}`.
#[utoipa::path(operation_id = "createBoots", post,
    path = "/v1/boots",
    tag = "boots",
    params(OrderQuery, BootQuery),
    request_body(description = "At most 4 MiB", content(
        (JsonBootOrder = "application/json"),
        (YamlDocuments = "application/yaml"),
    )),
    responses(
        (status = 201, description = "The boots are begun", body = BegunBoots,
            headers(("Location" = String, description = "Path of the boot, where it is one"))),
        (status = 400, description = "The request cannot be understood (`malformed-request`, `wrong-parameter`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 408, description = "The body did not arrive (`incomplete-request`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Another boot drives the BMC (`boot-conflict`), or the image is stored already in a form that this version cannot go on with (`image-conflict`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large (`too-large`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "Not a content type that is read here (`unsupported-media-type`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "Understood, and impossible (`bmc-refused`, and all that images are refused for)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The base is not there at the moment (`base-unavailable`), too many boots are under way (`too-many-boots`), or the data directory cannot be used (`storage-unavailable`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The data directory is full (`storage-full`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    answer(&api, query.as_deref(), head.headers, body).await
}

async fn answer(api: &Arc<Api>, query: Option<&str>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let query = Parameters::new(query);
    let documents = match content::of(&headers, query.has(order::is_order))? {
        Content::Documents => true,
        Content::Request => false,
    };
    let body = body::read(body).await?;
    let shared = Arc::clone(api);
    let prepared = convert(api, body.len(), move || {
        let order = if documents {
            BootOrder::from_query(query, body.clone())?
        } else {
            query.finish().map_err(|problem| problem.with_more("a request in JSON has everything in its body"))?;
            BootOrder::from_json(&body)?
        };
        prepare(&shared, &order).map_err(|problem| content::hint(problem, &headers, &body))
    })
    .await??;
    let Prepared { boots, images, report } = prepared;
    // Before anything is published: what is refused leaves nothing behind.
    api.boots.check(&boots)?;
    let shared = Arc::clone(api);
    // To the end, even if the client does not wait for it: images without their boots would be left.
    let begun = tokio::spawn(async move { begin(&shared, images, boots).await }).await.map_err(Problem::internal)??;
    let location = match begun.as_slice() {
        [boot] => Some([(LOCATION, format!("/v1/boots/{}", boot.id()))]),
        _ => None,
    };
    let boots = begun.iter().map(|boot| show::boot(&boot.view())).collect();
    let body = Json(BegunBoots { boots, findings: findings(&report) });
    Ok((StatusCode::CREATED, location, body).into_response())
}

/// Publishes the images and begins the boots. If any of that fails, the images that are new are taken back.
async fn begin(api: &Api, images: Vec<Sealed>, boots: Vec<NewBoot>) -> Result<Vec<Arc<Boot>>, Problem> {
    let store = Arc::clone(&api.store);
    let (new, published) = blocking(move || publish(&store, images)).await?;
    let begun = match published {
        Ok(()) => api.boots.begin(boots).await.map_err(Problem::from),
        Err(error) => Err(error.into()),
    };
    if begun.is_err() {
        // Somebody may have begun another boot from one of them meanwhile.
        let new: Vec<_> = new.into_iter().filter(|image| api.boots.of_image(&image.id()).is_none()).collect();
        let store = Arc::clone(&api.store);
        blocking(move || store.withdraw(&new)).await?;
    }
    begun
}

/// Publishes the images up to the first that cannot be. The ones that were not there before, and the error.
fn publish(store: &Store, images: Vec<Sealed>) -> (Vec<Arc<StoredImage>>, Result<(), StoreError>) {
    let mut new = Vec::new();
    for image in images {
        match image.publish(store) {
            Ok((image, Publication::Created)) => new.push(image),
            Ok((_, Publication::Existing)) => {}
            Err(error) => return (new, Err(error)),
        }
    }
    (new, Ok(()))
}
