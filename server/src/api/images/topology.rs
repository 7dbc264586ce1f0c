//! `GET /v1/images/{id}/topology.svg`

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use hosts::model::Topology;
use hosts::topology::svg::Picture;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use imagelib::digest::Digest;
use imagelib::recipe::Recipe;

use crate::api::not_modified::not_modified;
use crate::api::parameters::NoQuery;
use crate::api::problem::{Problem, ProblemKind};
use crate::api::{Api, blocking};

/// Draw the network that the image's host will have, as SVG: interfaces and how they are stacked, addresses, networks,
/// gateways and name servers.
///
/// dayone draws the picture from the keyfiles in the image, and does not need the base. If this server boots or has booted the
/// host, the picture also shows the BMC. The picture contains no secrets, such as keys and passwords of profiles.
#[utoipa::path(operation_id = "getTopology", get, path = "/v1/images/{id}/topology.svg", tag = "images",
    security(("token" = ["read"])),
    params(
        ("id" = String, Path, description = "The image's id"),
        ("If-None-Match" = Option<String>, Header, description = "The entity tags of pictures that the client has"),
    ),
    responses(
        (status = 200, description = "The picture", body = String, content_type = "image/svg+xml",
            headers(("ETag" = String, description = "The entity tag. It changes if and only if the picture changes"))),
        (status = 304, description = "The picture has the entity tag in the request (`If-None-Match`)",
            headers(("ETag" = String, description = "The entity tag"))),
        (status = 404, description = "No image has this id, or the image has no keyfiles (`not-found`)"),
    ))]
pub(super) async fn topology(
    State(api): State<Arc<Api>>,
    _: NoQuery,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let image = super::find(&api, &id)?;
    let sealed = image.recipe().map_err(Problem::internal)?;
    if !image.has_keyfiles() {
        return Err(Problem::new(ProblemKind::NotFound, no_keyfiles(sealed.recipe())));
    }
    let bmc = api.boots.bmc_of_image(&image.id());
    let svg = blocking(move || {
        let additions = &sealed.recipe().additions;
        let topology = Topology::from_keyfiles(&additions.keyfiles, additions.hostname.as_ref());
        Picture { topology: &topology, bmc: bmc.as_deref(), boot_mac: None }.to_svg()
    })
    .await?;
    let etag = format!("\"{}\"", Digest::of(svg.as_bytes()));
    // No shared cache may keep the picture; a private cache must validate it each time, because a boot may begin.
    let fixed = [
        (CACHE_CONTROL, "private, no-cache".to_owned()),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (ETAG, etag.clone()),
    ];
    if media::client_has(&headers, &etag) {
        return Ok(not_modified(fixed));
    }
    Ok((fixed, [(CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

/// Explains why there is no picture of an image without keyfiles.
fn no_keyfiles(recipe: &Recipe) -> &'static str {
    if recipe.data.is_some() {
        "dayone draws pictures from NetworkManager's keyfiles, and this data image has its network in another form"
    } else if imagelib::talos::is_network(&recipe.kernel_arguments) {
        "dayone draws pictures from NetworkManager's keyfiles, and this image has Talos' network configuration instead"
    } else if recipe.additions.networkd_units.is_empty() {
        "the image has no network"
    } else {
        "dayone draws pictures from NetworkManager's keyfiles, and this image has units of systemd-networkd instead"
    }
}
