//! Answers of something between the client and a dayone server, such as a proxy.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Method, Request, StatusCode};

use crate::forward_proxy::ForwardProxy;

/// Explains an answer that is none of dayone's. `list` is the command that shows whether the server has begun the order all the same, and
/// `proxy` may have answered in place of the server.
pub(super) fn explain(
    status: StatusCode,
    location: Option<&str>,
    list: Option<&str>,
    proxy: Option<&ForwardProxy>,
) -> String {
    match (status, location, proxy) {
        (StatusCode::PROXY_AUTHENTICATION_REQUIRED, _, Some(proxy)) => proxy.unauthorized().why,
        (StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT, _, _) => {
            let who = proxy.map_or_else(
                || "a proxy in front of the server".to_owned(),
                |proxy| format!("{proxy}, or a proxy in front of the server,"),
            );
            format!("{who} answers {status}{}", may_have_begun(list))
        }
        (StatusCode::PAYLOAD_TOO_LARGE, _, _) => format!(
            "a proxy in front of the server answers {status}: it accepts only smaller documents; raise its limit \
             (nginx: client_max_body_size)"
        ),
        (_, Some(location), _) if status.is_redirection() => {
            let place = location.split(['?', '#']).next().unwrap_or_default();
            let place = place.split_once("/v1/").map_or(place, |(server, _)| server);
            format!(
                "the server answers {status}, and redirects to {place}: if dayone answers there, give that address with \
                 --server"
            )
        }
        (_, _, Some(proxy)) => format!("{proxy}, or the server behind it, answers {status}; is it a dayone server?"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_shown_without_its_query_and_without_the_path_of_the_api() {
        for (location, shown) in [
            ("https://login.example/start?state=hunter2#hunter2", "https://login.example/start"),
            ("https://login.example/start?return=/v1/boots", "https://login.example/start"),
            ("https://dayone.example/v1/boots?limit=1000", "https://dayone.example"),
            ("https://dayone.example/site/v1/boots", "https://dayone.example/site"),
        ] {
            let told = explain(StatusCode::FOUND, Some(location), None, None);
            assert!(told.contains(&format!("302 Found, and redirects to {shown}: ")), "{told}");
        }
    }
}
