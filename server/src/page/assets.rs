//! The files that the page's HTML refers to. They are in the binary, and need no login: the login form uses them, too.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use imagelib::digest::Digest;

use crate::api::Api;
use crate::api::not_modified::not_modified;

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
        if media::client_has(headers, &self.etag) {
            return not_modified(fixed);
        }
        (fixed, [(CONTENT_TYPE, self.media_type)], self.content).into_response()
    }
}
