//! Which role may do what.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use dayone::api::clients::Role;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::support::{Answer, Dayone, NMSTATE, Place};

fn token(role: Role) -> String {
    format!("the-token-of-the-role-{role}")
}

/// Writes a file of clients, one for each role. It has digests only.
fn write_clients(place: &Place, roles: &[Role]) {
    let client = |role: &Role| {
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(token(*role)));
        format!("- name: client-{role}\n  role: {role}\n  token-sha256: {digest}\n")
    };
    let clients: String = roles.iter().map(client).collect();
    fs::write(place.path("clients.yaml"), format!("clients:\n{clients}")).unwrap();
    fs::set_permissions(place.path("clients.yaml"), fs::Permissions::from_mode(0o600)).unwrap();
}

async fn start() -> Dayone {
    let place = Place::new();
    write_clients(&place, &Role::ALL);
    let mut config = place.config();
    config.api_clients.add_client_file(&place.path("clients.yaml")).unwrap();
    Dayone::start_with(place, config).await
}

/// The role that an operation of the description needs. None: anybody may request it.
fn needed(operation: &Value) -> Option<Role> {
    let security = operation["security"].as_array().unwrap_or_else(|| panic!("no role: {operation}"));
    let [requirement] = security.as_slice() else { panic!("{security:?}") };
    let requirement = requirement.as_object().unwrap();
    if requirement.is_empty() {
        return None;
    }
    let [role] = requirement["token"].as_array().unwrap().as_slice() else { panic!("{requirement:?}") };
    Some(role.as_str().unwrap().parse().unwrap())
}

/// Walks the description, so that a new operation cannot be without a role, nor have one that the server does not enforce.
#[tokio::test]
async fn every_operation_needs_the_role_in_its_description() {
    let dayone = start().await;
    let document: Value = serde_json::from_str(&dayone::api::document()).unwrap();
    let mut counted = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let needed = needed(operation);
            let path = path.replace("{id}", "x").replace("{name}", "x").replace("{kind}", "x").replace("{code}", "x");
            let method: Method = method.to_uppercase().parse().unwrap();
            let request = || dayone.client.request(method.clone(), dayone.url(&path));
            let anybody = Answer::of(request()).await;
            let Some(needed) = needed else {
                assert_ne!(anybody.status, 401, "{method} {path}");
                continue;
            };
            assert_eq!(anybody.status, 401, "{method} {path}");
            for role in Role::ALL {
                // The head is enough: some answers are streams without an end.
                let response = request().bearer_auth(token(role)).send().await.unwrap();
                let refused = response.status() == 403;
                assert_eq!(refused, role < needed, "{method} {path} {role}: {}", response.status());
                assert_ne!(response.status(), 401, "{method} {path} {role}");
            }
            counted += 1;
        }
    }
    assert!(counted > 20, "{counted}");
}

#[tokio::test]
async fn a_role_that_is_too_small_is_named_with_the_one_that_is_needed() {
    let dayone = start().await;
    let order = |role| dayone.post("/v1/images?base=coreos", NMSTATE).bearer_auth(token(role));
    let refused = Answer::of(order(Role::Read)).await;
    assert_eq!(refused.status, 403);
    let problem = refused.problem("role-too-small");
    assert_eq!(problem["needed_role"], "build");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("'build'") && detail.contains("'client-read'") && detail.contains("'read'"), "{detail}");
    assert!(!problem.to_string().contains(&token(Role::Read)));
    assert!(dayone.place.records().is_empty(), "nothing was made");
    assert_eq!(Answer::of(order(Role::Build)).await.status, 201);

    let boot = dayone.post("/v1/boots?base=coreos", NMSTATE).bearer_auth(token(Role::Build));
    assert_eq!(Answer::of(boot).await.problem("role-too-small")["needed_role"], "boot");
}

#[tokio::test]
async fn who_may_only_read_gets_no_url_of_an_image() {
    let dayone = start().await;
    let order = dayone.post("/v1/images?base=coreos&karg_append=pw%3Dhunter2", NMSTATE);
    let image = Answer::of(order.bearer_auth(token(Role::Build))).await.ok();
    let path = format!("/v1/images/{}", image["id"].as_str().unwrap());
    let url = image["url"].as_str().unwrap();
    let secret = url.split("/i/").nth(1).unwrap().split('/').next().unwrap();
    let get = |path: &str, role| dayone.get(path).bearer_auth(token(role));
    let body = Answer::of(get(&path, Role::Read)).await.ok();
    assert_eq!(body["id"], image["id"]);
    assert!(body["url"].is_null() && body["files"]["boot.iso"]["size"].is_u64(), "{body}");
    assert_eq!(Answer::of(get(&path, Role::Build)).await.ok()["url"], url);
    for path in [path.clone(), "/v1/images".to_owned(), format!("{path}/files"), format!("{path}/changes")] {
        let text = Answer::of(get(&path, Role::Read)).await.ok().to_string();
        assert!(!text.contains(secret) && !text.contains("hunter2"), "{path}: {text}");
    }
}

/// A browser that is logged in with the token of `role`.
async fn page(dayone: &Dayone, role: Role, path: &str) -> (String, String) {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let form = client.post(dayone.url("/login")).header("content-type", "application/x-www-form-urlencoded");
    let login = Answer::of(form.body(format!("token={}&then=/", token(role)))).await;
    let cookie = login.header("set-cookie").split(';').next().unwrap().to_owned();
    let page = dayone.get(path).header("accept", "text/html").header("cookie", &cookie);
    (cookie, String::from_utf8(Answer::of(page).await.body).unwrap())
}

#[tokio::test]
async fn the_page_offers_what_the_role_of_the_login_allows_and_the_server_decides() {
    let dayone = start().await;
    let image = Answer::of(dayone.post("/v1/images?base=coreos", NMSTATE).bearer_auth(token(Role::Build))).await.ok();
    let url = image["url"].as_str().unwrap();
    let path = format!("/images/{}", image["id"].as_str().unwrap());
    for role in Role::ALL {
        let (cookie, overview) = page(&dayone, role, "/").await;
        assert_eq!(overview.contains("id=\"documents-form\""), role >= Role::Build, "{role}");
        assert_eq!(overview.contains("id=\"boot\" hidden"), role == Role::Build, "{role}");
        let (_, shown) = page(&dayone, role, &path).await;
        assert_eq!(shown.contains(url), role >= Role::Build, "{role}");
        assert!(shown.contains("boot.iso"), "{role}");
        let own = |request: RequestBuilder| request.header("cookie", &cookie).header("sec-fetch-site", "same-origin");
        let checked = Answer::of(own(dayone.post("/v1/check", NMSTATE))).await;
        assert_eq!(checked.status == 403, role < Role::Build, "{role}");
        let booted = Answer::of(own(dayone.post("/v1/boots?base=coreos", NMSTATE))).await;
        assert_eq!(booted.status == 403, role < Role::Boot, "{role}");
    }
}

#[tokio::test]
async fn a_reload_changes_roles_and_removes_clients_also_for_sessions() {
    let dayone = start().await;
    let (cookie, _) = page(&dayone, Role::Read, "/").await;
    let bases = |role| dayone.get("/v1/bases").bearer_auth(token(role));
    assert_eq!(Answer::of(bases(Role::Read)).await.status, 200);
    write_clients(&dayone.place, &[Role::Build]);
    let mut config = dayone.place.config();
    config.api_clients.add_client_file(&dayone.place.path("clients.yaml")).unwrap();
    dayone.server.configure(config);
    assert_eq!(Answer::of(bases(Role::Read)).await.status, 401);
    assert_eq!(Answer::of(bases(Role::Build)).await.status, 200);
    let own = dayone.get("/v1/bases").header("cookie", cookie).header("sec-fetch-site", "same-origin");
    assert_eq!(Answer::of(own).await.status, 401, "the session has ended with its token");
}
