//! Who sees the page. Browsers get HTML; every other client gets what the API answers at these paths.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use media::listen::{ClientCertificate, Peer};

use super::credential_form::CredentialForm;
use super::shell::Shell;
use crate::api::access::{Access, KnownClient};
use crate::api::problem::Problem;
use crate::api::{accept, nothing_here};

/// Whether the client prefers HTML, as browsers do when they show a page.
fn wants_html(headers: &HeaderMap) -> bool {
    accept::preferred(headers, &["application/json", "text/html"]) == "text/html"
}

/// Middleware: lets a browser with a session pass. A browser without a session gets the form for the login.
pub(super) async fn admit(State(access): State<Access>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    if !wants_html(headers) {
        return nothing_here().into_response();
    }
    let caller = if access.needs_token() {
        let certificate = request.extensions().get::<ClientCertificate>();
        access.session(headers).or_else(|| access.certified(certificate?))
    } else {
        // Without tokens, the API checks where a request comes from, and so does the page.
        match access.visitor(request.uri(), headers, request.extensions().get()) {
            Ok(caller) => Some(caller),
            Err(problem) => return problem.into_response(),
        }
    };
    let Some(caller) = caller else {
        let then = request.uri().path_and_query().map_or("/", |path| path.as_str());
        return CredentialForm::new(then).into_response();
    };
    let shell = Shell::new(&access, &caller, request.uri(), headers);
    request.extensions_mut().insert(shell);
    let mut response = next.run(request).await;
    response.extensions_mut().insert(KnownClient);
    response
}

/// Middleware: lets a script of the page pass, as the API does. Records a token that is not valid. Without a token, it is a page whose
/// session has ended: it asks again every ten seconds.
pub(super) async fn admit_script(
    State(access): State<Access>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = access.caller(request.uri(), request.headers(), request.extensions().get());
    if let Err(problem) = caller {
        if request.headers().contains_key(AUTHORIZATION) {
            let peer = request.extensions().get::<Peer>();
            access.record_refused(&problem, peer.map(|peer| peer.address.ip().to_canonical()));
        }
        return Err(problem);
    }
    let mut response = next.run(request).await;
    response.extensions_mut().insert(KnownClient);
    Ok(response)
}
