//! The files that the page's HTML refers to. They are in the binary, and need no login: the login form uses them, too.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use imagelib::digest::Digest;

use crate::api::Api;

/// A file with its entity tag.
struct Asset {
    media_type: &'static str,
    content: &'static str,
    etag: LazyLock<String>,
}

macro_rules! asset {
    ($name:ident, $file:literal, $media_type:literal) => {
        static $name: Asset = Asset {
            media_type: $media_type,
            content: include_str!(concat!("assets/", $file)),
            etag: LazyLock::new(|| format!("\"{}\"", Digest::of(include_str!(concat!("assets/", $file)).as_bytes()))),
        };
    };
}

asset!(STYLE, "page.css", "text/css; charset=utf-8");
asset!(LIVE, "live.js", "text/javascript; charset=utf-8");
asset!(BOOT, "boot.js", "text/javascript; charset=utf-8");
asset!(DOCUMENTS, "documents.js", "text/javascript; charset=utf-8");
asset!(ICON, "icon.svg", "image/svg+xml");

/// The routes of the files.
pub(super) fn router() -> Router<Arc<Api>> {
    let route = |asset: &'static Asset| get(async move |headers: HeaderMap| asset.answer(&headers));
    Router::new()
        .route("/assets/page.css", route(&STYLE))
        .route("/assets/live.js", route(&LIVE))
        .route("/assets/boot.js", route(&BOOT))
        .route("/assets/documents.js", route(&DOCUMENTS))
        .route("/assets/icon.svg", route(&ICON))
}

impl Asset {
    /// Browsers ask each time whether the file is still the same, because another version of dayone has other files.
    fn answer(&self, headers: &HeaderMap) -> Response {
        let fixed = [(CACHE_CONTROL, "no-cache"), (ETAG, self.etag.as_str())];
        if headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == self.etag.as_bytes()) {
            return (StatusCode::NOT_MODIFIED, fixed).into_response();
        }
        (fixed, [(CONTENT_TYPE, self.media_type)], self.content).into_response()
    }
}
