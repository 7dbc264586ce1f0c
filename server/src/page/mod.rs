//! The page: what browsers get from the API's plane. It shows boots, images and bases, and takes documents.
//!
//! Every view is HTML that is complete without scripts. With scripts, the server sends the parts that have changed once a second
//! ([`live`]), as the same HTML. There is only one place that renders a thing: a template in `html/`, which escapes what it shows.

mod assets;
mod base_list;
mod board;
mod boot_page;
mod credential_form;
mod filter;
mod headers;
mod image_list;
mod image_page;
mod live;
mod moment;
mod overview;
mod piece;
mod reading;
mod row;
mod session;
mod shell;
mod subject;
mod visitor;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};

use crate::api::Api;
use crate::api::access::Access;
use crate::live::Publisher;

/// The routes of the page, for [`Api::into_router`].
pub(crate) fn router(access: Access) -> Router<Arc<Api>> {
    let views = Router::new()
        .route("/", get(overview::overview))
        .route("/boots/{id}", get(boot_page::boot))
        .route("/images", get(image_list::images))
        .route("/images/{id}", get(image_page::image))
        .route("/bases", get(base_list::bases))
        .route_layer(from_fn_with_state(access.clone(), visitor::admit));
    let live = Router::new()
        .route("/live", get(live::live))
        .route_layer(from_fn_with_state(access.clone(), visitor::admit_script))
        .layer(axum::Extension(Publisher::<subject::Followed>::new()))
        .layer(axum::Extension(access.clone()));
    let session = Router::new()
        .route("/login", post(session::log_in))
        .route("/logout", post(session::log_out))
        .layer(axum::Extension(access));
    views.merge(live).merge(session).merge(assets::router()).route_layer(from_fn(headers::secure))
}
