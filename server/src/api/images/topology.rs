//! `GET /v1/images/{id}/topology.svg`

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use hosts::model::Topology;
use hosts::topology::svg::Picture;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, StatusCode};
use imagelib::digest::Digest;
use imagelib::recipe::Recipe;

use crate::api::problem::{Problem, ProblemBody, ProblemKind};
use crate::api::{Api, blocking};

/// Draw the network that an image's host will have, as SVG: its interfaces, what stands on what, addresses, networks,
/// gateways and name servers.
///
/// It is drawn from the keyfiles in the image, and needs no base. Where the host is being booted, or was, its BMC is in it.
/// The picture holds no secrets: keys and passwords of profiles are not drawn.
#[utoipa::path(operation_id = "getTopology", get,
    path = "/v1/images/{id}/topology.svg",
    tag = "images",
    params(("id" = String, Path, description = "The image's id")),
    responses(
        (status = 200, description = "The picture", body = String, content_type = "image/svg+xml"),
        (status = 304, description = "The picture has the entity tag that the request names (`If-None-Match`)"),
        (status = 404, description = "No such image, or none with keyfiles (`not-found`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn topology(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let image = super::find(&api, &id)?;
    if image.recipe().additions.keyfiles.is_empty() {
        return Err(Problem::new(ProblemKind::NotFound, why_not(image.recipe())));
    }
    let bmc = api.boots.bmc_of_image(&image.id());
    let svg = blocking(move || {
        let additions = &image.recipe().additions;
        let topology = Topology::from_keyfiles(&additions.keyfiles, additions.hostname.as_ref());
        Picture { topology: &topology, bmc: bmc.as_deref(), boot_mac: None }.to_svg()
    })
    .await?;
    let etag = format!("\"{}\"", Digest::of(svg.as_bytes()));
    // What others may not see is not kept for others; what is kept is asked for again, since a boot may begin.
    let fixed = [
        (CACHE_CONTROL, "private, no-cache".to_owned()),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (ETAG, etag.clone()),
    ];
    let mut known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    if known
        .any(|tags| tags.split(',').any(|tag| matches!(tag.trim(), "*") || tag.trim().trim_start_matches("W/") == etag))
    {
        return Ok((StatusCode::NOT_MODIFIED, fixed).into_response());
    }
    Ok((fixed, [(CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

/// Why there is no picture of an image without keyfiles.
fn why_not(recipe: &Recipe) -> &'static str {
    if recipe.data.is_some() {
        "this is a data image, whose network is written for somebody else to read: pictures are drawn from NetworkManager's \
         keyfiles"
    } else if recipe.additions.networkd_units.is_empty() {
        "the image was made without a network: there is nothing to draw"
    } else {
        "the network of this image is in units of systemd-networkd: pictures are drawn from NetworkManager's keyfiles"
    }
}
