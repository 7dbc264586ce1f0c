//! Answers of something between the client and a dayone server, such as a proxy.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Method, Request, StatusCode};

/// Explains an answer that is none of dayone's. `list` is the command that shows whether the server has begun the order all the same.
pub(super) fn explain(status: StatusCode, location: Option<&str>, list: Option<&str>) -> String {
    match (status, location) {
        (StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT, _) => {
            format!("a proxy in front of the server answers {status}{}", may_have_begun(list))
        }
        (StatusCode::PAYLOAD_TOO_LARGE, _) => format!(
            "a proxy in front of the server answers {status}: it accepts only smaller documents; raise its limit \
             (nginx: client_max_body_size)"
        ),
        (StatusCode::PROXY_AUTHENTICATION_REQUIRED, _) => format!(
            "the proxy on the way to the server answers {status}: give its user name and password in HTTP_PROXY \
             (http://USER:PASSWORD@HOST:PORT)"
        ),
        (_, Some(location)) if status.is_redirection() => {
            format!("the server answers {status}, and redirects to {location}: give the address there with --server")
        }
        _ => format!("the server answers {status}; is it a dayone server?"),
    }
}

/// What to do after an order to which the server's own answer is missing.
pub(super) fn may_have_begun(list: Option<&str>) -> String {
    list.map(|list| format!("; the server may have begun the order: look with `{list}` before you send it again"))
        .unwrap_or_default()
}

/// Returns the command that lists what a request orders.
pub(super) fn list_command(request: &Request) -> Option<&'static str> {
    let is_order = request.method() == Method::POST;
    match request.url().path_segments().filter(|_| is_order)?.next_back()? {
        "boots" => Some("dayone boots list"),
        "bases" => Some("dayone base list"),
        _ => None,
    }
}

/// Returns what somebody else requires in place of dayone's token, such as `Basic realm="proxy"`.
pub(super) fn other_login(headers: &HeaderMap) -> Option<String> {
    let challenges = || headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let is_dayone = challenges().any(|challenge| challenge.to_ascii_lowercase().starts_with("bearer"));
    challenges().next().filter(|_| !is_dayone).map(str::to_owned)
}
