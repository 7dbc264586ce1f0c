//! `POST /v1/boots`

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::LOCATION;
use serde::Serialize;
use utoipa::ToSchema;

use super::order::{BootOrder, BootQuery, BootRequest};
use super::prepare::{Prepared, prepare};
use super::show::{BootBodies, BootBody};
use crate::api::images::show::ordered;
use crate::api::images::{OrderQuery, Sealed};
use crate::api::large_json::LargeJson;
use crate::api::problem::Problem;
use crate::api::request::Received;
use crate::api::user_documents::{WorkbookDocuments, YamlDocuments};
use crate::api::{Api, blocking};
use crate::audit::{Actor, Event};
use crate::boots::{Boot, NewBoot};
use crate::findings::{FindingBody, findings};
use crate::store::{Publication, Store, StoreError, StoredImage};

/// The new boots.
#[derive(Serialize, ToSchema)]
pub(super) struct BegunBoots {
    /// The boots, one for each host, in the order of the documents.
    #[schema(value_type = Vec<BootBody>)]
    boots: BootBodies,
    /// Findings about the documents.
    findings: Vec<FindingBody>,
}

/// Boot hosts: make their images, tell their BMCs to insert them and boot from them once, and watch until the hosts have
/// booted.
///
/// Send the user's documents unchanged, with everything else in the query; or send a `BootRequest` in JSON. With `base` or
/// `image` in the query, the body is documents, as for images.
///
/// Each host in the documents gets its own boot, unless `host` selects one. Either all boots begin or none. The server answers
/// when it has recorded the boots; `/v1/boots/{id}` shows their progress.
#[utoipa::path(operation_id = "createBoots", post, path = "/v1/boots", tag = "boots", security(("token" = ["boot"])),
    params(OrderQuery, BootQuery),
    request_body(description = "At most 4 MiB", content(
        (BootRequest = "application/json"),
        (YamlDocuments = "application/yaml"),
        (WorkbookDocuments = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    )),
    responses(
        (status = 201, description = "The boots have begun", body = BegunBoots,
            headers(("Location" = String, description = "The path of the boot, if there is exactly one"))),
        (status = 409, description = "Another boot uses the BMC (`boot-conflict`), or another version of dayone has stored the image in a form that this version cannot use (`image-conflict`)"),
        (status = 422, description = "dayone cannot boot the hosts (`bmc-refused`, and all kinds of problems that images have)"),
        (status = 503, description = "The base is not available (`base-unavailable`), too many boots are unfinished (`too-many-boots`), or the data directory is not usable (`storage-unavailable`)"),
        (status = 507, description = "The data directory is full (`storage-full`)"),
    ))]
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    Extension(actor): Extension<Actor>,
    request: Received<BootOrder>,
) -> Result<Response, Problem> {
    let shared = Arc::clone(&api);
    let Prepared { boots, images, report } = request.process(&api, move |order| prepare(&shared, &order)).await?;
    // Check before publishing anything, so that a refused request leaves nothing behind.
    api.boots.check(&boots)?;
    // A task runs to the end even if the client does not wait for it. Otherwise it could leave images without their boots.
    let begun =
        tokio::spawn(async move { begin(&api, &actor, images, boots).await }).await.map_err(Problem::internal)??;
    let location = match begun.as_slice() {
        [boot] => Some([(LOCATION, format!("/v1/boots/{}", boot.id()))]),
        _ => None,
    };
    let boots = BootBodies(begun.iter().map(|boot| boot.view()).collect());
    let body = LargeJson(BegunBoots { boots, findings: findings(&report) });
    Ok((StatusCode::CREATED, location, body).into_response())
}

/// Publishes the images and begins the boots. If this fails, it withdraws the new images.
async fn begin(api: &Api, actor: &Actor, images: Vec<Sealed>, boots: Vec<NewBoot>) -> Result<Vec<Arc<Boot>>, Problem> {
    let store = Arc::clone(&api.store);
    let orderer = actor.clone();
    let (new, published) = blocking(move || publish(&store, &orderer, images)).await?;
    let begun = match published {
        Ok(()) => api.boots.begin(boots).await.map_err(Problem::from),
        Err(error) => Err(error.into()),
    };
    if begun.is_err() {
        // Another request may have begun a boot from one of them meanwhile.
        let new: Vec<_> = new.into_iter().filter(|image| api.boots.of_image(&image.id()).is_none()).collect();
        let (store, actor) = (Arc::clone(&api.store), actor.clone());
        blocking(move || {
            for image in store.withdraw(new) {
                let host = image.label().map(str::to_owned);
                actor.record(Event::ImageDeleted { image: image.id().to_string(), host });
            }
        })
        .await?;
    }
    for record in begun.iter().flatten().map(|boot| boot.record()) {
        actor.record(Event::BootBegun {
            boot: record.id.to_string(),
            image: record.image.to_string(),
            host: record.host.clone(),
            bmc: record.bmc.address.to_string(),
        });
    }
    begun
}

/// Publishes the images, up to the first error. Returns the new ones, and the error.
fn publish(store: &Store, actor: &Actor, images: Vec<Sealed>) -> (Vec<Arc<StoredImage>>, Result<(), StoreError>) {
    let mut new = Vec::new();
    for image in images {
        match image.publish(store) {
            Ok((image, publication)) => {
                actor.record(ordered(&image, publication));
                if publication == Publication::Created {
                    new.push(image);
                }
            }
            Err(error) => return (new, Err(error)),
        }
    }
    (new, Ok(()))
}
