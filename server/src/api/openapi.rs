//! The API's own description.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder, Schema};

use super::{Api, protected, unprotected};

/// What the code does not say elsewhere.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "dayone",
        description = "`NMState` in, bootable virtual media out.\n\nErrors are problem details (RFC 9457) with the media \
                       type `application/problem+json`. Sizes are in bytes.\n\n\
                       Every answer has a header `X-Request-Id`, which the server's log names too; a request may bring \
                       its own.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "images", description = "Boot images: one for each host"),
        (name = "boots", description = "Hosts, booted from images by way of their BMCs"),
        (name = "keyfiles", description = "What becomes of NMState, without an image"),
        (name = "findings", description = "What is wrong with documents, before anything boots"),
        (name = "bases", description = "What images are made over"),
        (name = "service", description = "The server itself"),
    ),
    security(("token" = [])),
    modifiers(&Token),
)]
struct Description;

struct Token;

impl utoipa::Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        openapi.components.get_or_insert_default().security_schemes.insert("token".to_owned(), scheme.into());
    }
}

/// The part of the description that no handler has.
pub(super) fn description() -> utoipa::openapi::OpenApi {
    let mut description = Description::openapi();
    description.merge(unprotected().into_openapi());
    description
}

/// The whole description, as `openapi/openapi.json` holds it.
pub fn document() -> String {
    let router: utoipa_axum::router::OpenApiRouter<Arc<Api>> = protected();
    to_json(&router.into_openapi())
}

/// Adds to every operation the problems that do not depend on what it does.
fn complete(openapi: &mut utoipa::openapi::OpenApi) {
    for item in openapi.paths.paths.values_mut() {
        for operation in [&mut item.get, &mut item.post, &mut item.delete].into_iter().flatten() {
            let needs_token = operation.security.is_none();
            let takes_any = operation.parameters.is_some() || operation.request_body.is_some();
            let problems = [
                (takes_any, 400, "The path or the query is not well-formed (`wrong-parameter`)"),
                (needs_token, 401, "No token, or a wrong one (`unauthorized`)"),
                (
                    needs_token,
                    403,
                    "The server has no token, and the request comes from a browser or another machine (`foreign-origin`)",
                ),
                (needs_token, 500, "The fault is the server's or its machine's; its log says more (`internal`)"),
            ];
            for (_, status, description) in problems.into_iter().filter(|(applies, ..)| *applies) {
                let problem = Content::new(Some(Ref::from_schema_name("Problem")));
                let response =
                    ResponseBuilder::new().description(description).content("application/problem+json", problem);
                operation.responses.responses.entry(status.to_string()).or_insert_with(|| response.build().into());
            }
        }
    }
}

/// A request for boots has the members of a request for an image, and more. Neither of the two allows members that it does
/// not know, so that both at once would allow none: the request for boots is described as one object.
fn join_boot_request(openapi: &mut utoipa::openapi::OpenApi) {
    let Some(components) = &mut openapi.components else { return };
    let object = |name: &str| match components.schemas.get(name) {
        Some(RefOr::T(Schema::Object(object))) => Some(object.clone()),
        _ => None,
    };
    let (Some(mut joined), Some(boot)) = (object("ImageRequest"), object("BootSettings")) else { return };
    joined.properties.extend(boot.properties);
    joined.required.extend(boot.required);
    joined.description = Some("An `ImageRequest`, or the id of an image, and what matters to a boot.".to_owned());
    components.schemas.insert("BootRequest".to_owned(), RefOr::T(joined.into()));
    components.schemas.remove("BootSettings");
}

/// A description as JSON, for people to read too.
pub(super) fn to_json(openapi: &utoipa::openapi::OpenApi) -> String {
    let mut openapi = openapi.clone();
    complete(&mut openapi);
    join_boot_request(&mut openapi);
    // Serialising to memory fails only for maps whose keys are not texts.
    let mut json = openapi.to_pretty_json().unwrap_or_default();
    json.push('\n');
    json
}

/// `GET /v1/openapi.json`
pub(super) fn answer(document: String) -> Response {
    let mut response = document.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
