//! The description of the API (OpenAPI).

use std::sync::{Arc, LazyLock};

use axum::response::IntoResponse;
use http::header::CONTENT_TYPE;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder, Schema};
use utoipa::{OpenApi, PartialSchema as _};

use super::access::READ_ONLY_POSTS;
use super::boots::BootChanges;
use super::permissions::{Needed, SCHEME, operations};
use super::problem::ProblemBody;
use super::{Api, health, protected};

/// The parts of the description that no handler has.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "dayone",
        description = "`NMState` in, bootable virtual media out.\n\nErrors are problem details (RFC 9457) with the media \
                       type `application/problem+json`. If a request is not valid HTTP, the answer may have only a \
                       status: 400, 414 or 431. Sizes are in bytes.\n\n\
                       Every answer has a header `X-Request-Id`, which is also in the server's log. A request can have its \
                       own.\n\n\
                       Each client of the API has a role. `read` may read everything but the URLs of images. `build` may also \
                       check documents, and make and delete images. `boot` may do everything. The security requirement of an \
                       operation names the role that it needs.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers(
        (url = "/", description = "The server that returned this description"),
        (
            url = "http://{address}",
            description = "A server without TLS",
            variables(("address" = (default = "127.0.0.1:8080", description = "Where `--api-listen` has it listen"))),
        ),
    ),
    tags(
        (name = "images", description = "Boot images: one for each host"),
        (name = "boots", description = "Hosts that boot from images, through their BMCs"),
        (name = "keyfiles", description = "Conversion of documents to keyfiles, without an image"),
        (name = "findings", description = "Mistakes in documents, before anything boots"),
        (name = "bases", description = "The bases of images"),
        (name = "service", description = "The server itself"),
    ),
    components(schemas(ProblemBody, BootChanges)),
    modifiers(&Token),
)]
struct Description;

struct Token;

impl utoipa::Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        openapi.components.get_or_insert_default().security_schemes.insert(SCHEME.to_owned(), scheme.into());
    }
}

/// Returns the parts of the description that no protected handler has.
pub(super) fn description() -> utoipa::openapi::OpenApi {
    let mut description = Description::openapi();
    description.merge(health::router().into_openapi());
    description
}

/// Returns the whole description, as in `openapi/openapi.json`.
pub fn document() -> String {
    let router: utoipa_axum::router::OpenApiRouter<Arc<Api>> = protected();
    to_json(&router.into_openapi())
}

/// Answers with the description. It is the same for every request, and made for the first one.
pub(super) async fn get_document() -> impl IntoResponse {
    static DOCUMENT: LazyLock<String> = LazyLock::new(document);
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}

/// What the status 503 of an operation that changes something can mean, too.
const AUDIT_UNAVAILABLE: &str = ". Or the server cannot write its audit log (`audit-unavailable`): it has refused the \
                                 change, or has made it, and the detail says which";

/// What the header `Retry-After` of a problem says.
const RETRY_AFTER: &str = "The seconds after which to send the request again";

/// Completes the errors of every operation: adds those that many operations have, and describes their bodies and headers.
fn complete(openapi: &mut utoipa::openapi::OpenApi) {
    for (path, item) in &mut openapi.paths.paths {
        for (method, operation) in operations(item) {
            let needed = Needed::of(operation);
            let needs_token = needed != Needed::Nothing;
            let changes = needs_token && !method.is_safe() && !READ_ONLY_POSTS.contains(&path.as_str());
            if let Needed::Role(role) = needed {
                let description = operation.description.get_or_insert_default();
                let separator = if description.is_empty() { "" } else { "\n\n" };
                *description = format!("{description}{separator}Needs the role `{role}`.");
            }
            let takes_body = operation.request_body.is_some();
            let problems = [
                (takes_body, 400, "The request is malformed (`malformed-request`, `wrong-parameter`)"),
                (takes_body, 408, "The body did not arrive completely (`incomplete-request`)"),
                (takes_body, 413, "The body is too large (`too-large`)"),
                (
                    takes_body,
                    415,
                    "The server does not support the content type or the content encoding (`unsupported-media-type`)",
                ),
                (operation.parameters.is_some(), 400, "The path or the query is malformed (`wrong-parameter`)"),
                (needs_token, 401, "The token is missing or wrong (`unauthorized`)"),
                (
                    needs_token,
                    403,
                    "The client's role does not allow this (`role-too-small`); the request comes from another web site; or the server has no token, and it comes from another machine (`foreign-origin`)",
                ),
                (needs_token, 429, "Too many requests come from this address (`too-many-requests`)"),
                (needs_token, 500, "The server has failed; its log has the cause (`internal`)"),
            ];
            for (_, status, description) in problems.into_iter().filter(|(applies, ..)| *applies) {
                let response = || ResponseBuilder::new().description(description).build().into();
                operation.responses.responses.entry(status.to_string()).or_insert_with(response);
            }
            if changes && let Some(RefOr::T(unavailable)) = operation.responses.responses.get_mut("503") {
                unavailable.description.push_str(AUDIT_UNAVAILABLE);
            }
            for (status, response) in &mut operation.responses.responses {
                if let RefOr::T(response) = response
                    && status.starts_with(['4', '5'])
                    && response.content.is_empty()
                {
                    let problem = Content::new(Some(Ref::from_schema_name("Problem")));
                    response.content.insert("application/problem+json".to_owned(), problem.into());
                    if matches!(status.as_str(), "429" | "503") {
                        let after =
                            HeaderBuilder::new().schema(Some(u32::schema())).description(Some(RETRY_AFTER)).build();
                        response.headers.insert("Retry-After".to_owned(), after.into());
                    }
                }
            }
        }
    }
}

/// Describes the request for boots as one object, with the members of a request for an image and of `BootSettings`. Neither of
/// these allows unknown members, so an object that had to match both would match nothing.
fn join_boot_request(openapi: &mut utoipa::openapi::OpenApi) {
    let Some(components) = &mut openapi.components else { return };
    let object = |name: &str| match components.schemas.get(name) {
        Some(RefOr::T(Schema::Object(object))) => Some(object.clone()),
        _ => None,
    };
    let (Some(mut joined), Some(boot)) = (object("ImageRequest"), object("BootSettings")) else { return };
    joined.properties.extend(boot.properties);
    joined.required.extend(boot.required);
    joined.description =
        Some("An `ImageRequest` or the id of an existing image, with the settings of the boot.".to_owned());
    components.schemas.insert("BootRequest".to_owned(), RefOr::T(joined.into()));
    components.schemas.remove("BootSettings");
}

/// Completes a description and returns it as readable JSON.
fn to_json(openapi: &utoipa::openapi::OpenApi) -> String {
    let mut openapi = openapi.clone();
    complete(&mut openapi);
    join_boot_request(&mut openapi);
    // Serialising to memory fails only for maps whose keys are not texts.
    let mut json = openapi.to_pretty_json().unwrap_or_default();
    json.push('\n');
    json
}
