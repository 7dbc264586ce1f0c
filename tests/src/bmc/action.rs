//! Answers requests.

use std::sync::Arc;

use bytes::Bytes;
use http::header::IF_MATCH;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use super::answer::Answer;
use super::fault::{Failure, befalls};
use super::listen::Dropped;
use super::record::Record;
use super::{Shared, bios, boot, certificate, media, session, task};

const ROOT: &str = "/redfish/v1";

/// Answers a request, or closes the connection.
pub(super) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Dropped> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_end_matches('/').to_owned();
    let body = Limited::new(body, 64 << 10).collect().await.map_err(|_| Dropped)?.to_bytes();
    let body: Option<Value> =
        if body.is_empty() { None } else { Some(serde_json::from_slice(&body).unwrap_or_default()) };

    let failure = befalls(&mut shared.state().faults, head.method.as_str(), &path);
    let answer = match &failure {
        Some(Failure::Drop) => None,
        Some(Failure::Status(status)) => {
            let text = "The request failed due to an internal service error.";
            Some(Answer::error(*status, "InternalError", text, &[]))
        }
        Some(Failure::NotJson) => Some(Answer::json(200, Value::String("<html>".repeat(3)))),
        Some(Failure::LoseSession) => {
            shared.state().sessions.close_all();
            Some(dispatch(&shared, &head.method, &path, &head.headers, body.clone()).await)
        }
        Some(Failure::Delay(time)) => {
            tokio::time::sleep(*time).await;
            Some(dispatch(&shared, &head.method, &path, &head.headers, body.clone()).await)
        }
        Some(Failure::DropAnswer | Failure::DelayAnswer(_)) | None => {
            Some(dispatch(&shared, &head.method, &path, &head.headers, body.clone()).await)
        }
    };
    if let Some(Failure::DelayAnswer(time)) = failure {
        shared.state().late_answers += 1;
        tokio::time::sleep(time).await;
    }
    let answer = answer.filter(|_| !matches!(failure, Some(Failure::DropAnswer)));
    let status = answer.as_ref().map_or(0, |answer| answer.status);
    shared.state().records.push(Record::new(head.method.clone(), &path, &body.unwrap_or_default(), status));
    answer.map(Answer::into_response).ok_or(Dropped)
}

async fn dispatch(
    shared: &Arc<Shared>,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    body: Option<Value>,
) -> Answer {
    let login = shared.behaviour.login;
    let sessions = sessions(shared);
    if *method == Method::POST && path == sessions {
        return shared.state().sessions.log_in(login, &sessions, &body.unwrap_or_default());
    }
    let public = path == ROOT || path == "/redfish";
    if !public && !shared.state().sessions.knows(login, headers) {
        return session::refused();
    }
    match *method {
        Method::GET | Method::HEAD => read(shared, path),
        Method::DELETE if path.starts_with(&sessions) => shared.state().sessions.log_out(path),
        Method::DELETE => bios::delete_job(shared, path),
        Method::POST => post(shared, path, body).await,
        Method::PATCH => patch(shared, path, headers, body.unwrap_or_default()).await,
        _ => Answer::not_allowed("GET, HEAD"),
    }
}

/// Returns the path of the sessions, which the service root names.
fn sessions(shared: &Shared) -> String {
    let state = shared.state();
    let link = state.tree.get(ROOT).and_then(|root| root.pointer("/Links/Sessions/@odata.id"));
    let link = link.and_then(Value::as_str).unwrap_or("/redfish/v1/SessionService/Sessions");
    link.trim_end_matches('/').to_owned()
}

fn read(shared: &Shared, path: &str) -> Answer {
    if let Some(answer) = task::monitor(shared, path) {
        return answer;
    }
    let mut state = shared.state();
    state.advance();
    match state.tree.get(path) {
        Some(resource) => {
            let mut resource = resource.clone();
            if shared.behaviour.absolute_links {
                make_links_absolute(&mut resource);
            }
            Answer::json(200, resource).etag(state.tree.etag(path).as_deref())
        }
        None => {
            let text = format!("The requested resource {path} was not found.");
            Answer::error(404, "ResourceMissingAtURI", &text, &[path])
        }
    }
}

fn make_links_absolute(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(path) if matches!(name.as_str(), "@odata.id" | "target" | "@Redfish.ActionInfo") => {
                        *path = format!("https://bmc.internal{path}");
                    }
                    value => make_links_absolute(value),
                }
            }
        }
        Value::Array(members) => members.iter_mut().for_each(make_links_absolute),
        _ => {}
    }
}

async fn post(shared: &Arc<Shared>, path: &str, body: Option<Value>) -> Answer {
    let action = shared.state().tree.action(path);
    match action {
        Some((_, name)) if name == "ComputerSystem.Reset" => boot::reset(shared, &body.unwrap_or_default()).await,
        Some((slot, name)) if name == "VirtualMedia.InsertMedia" => {
            media::insert(shared, &slot, body.unwrap_or_default()).await
        }
        Some((slot, name)) if name == "VirtualMedia.EjectMedia" => media::eject(shared, &slot, body).await,
        _ => match certificate::add(shared, path, body.as_ref()) {
            Some(answer) => answer,
            None if shared.state().tree.get(path).is_some() => Answer::not_allowed("GET, HEAD"),
            None => {
                let text = format!("The action {path} is not supported by the resource.");
                Answer::error(404, "ActionNotSupported", &text, &[path])
            }
        },
    }
}

async fn patch(shared: &Arc<Shared>, path: &str, headers: &HeaderMap, body: Value) -> Answer {
    let (etag, is_slot) = {
        let state = shared.state();
        (state.tree.etag(path), state.slots.contains_key(path))
    };
    let Some(etag) = etag else { return read(shared, path) };
    let wanted = headers.get(IF_MATCH).and_then(|value| value.to_str().ok());
    match wanted {
        None if shared.behaviour.etag_required => {
            let text = "The request must have the header If-Match.";
            return Answer::error(428, "PreconditionRequired", text, &[]);
        }
        Some(wanted) if wanted != etag && wanted != "*" => {
            return Answer::error(412, "PreconditionFailed", "The resource has changed.", &[]);
        }
        _ => {}
    }
    let is_bios = path.eq_ignore_ascii_case(shared.behaviour.bios.staged.trim_end_matches('/'));
    if bios::is_staged_order(&shared.behaviour.bios, path) {
        return bios::patch_order(shared, &body);
    }
    let answer = match (is_slot, is_bios) {
        (true, _) => media::patch(shared, path, body).await,
        (_, true) => bios::patch(shared, &body),
        _ => boot::patch(shared, path, &body),
    };
    let etag = shared.state().tree.etag(path);
    if answer.is_success() { answer.etag(etag.as_deref()) } else { answer }
}
