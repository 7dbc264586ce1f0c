//! Who sees the page: login, sessions, and requests of other web sites.

use media::listen::Tls;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, RequestBuilder};

use super::support::{Answer, Dayone, NMSTATE, Place, TOKEN};

const HTML: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn with_token() -> Dayone {
    let place = Place::new();
    let mut config = place.config();
    config.api_clients.add(TOKEN, "the test").unwrap();
    let mut dayone = Dayone::start_with(place, config).await;
    dayone.client = Client::builder().redirect(Policy::none()).build().unwrap();
    dayone
}

fn form(dayone: &Dayone, path: &str, form: &str) -> RequestBuilder {
    let request = dayone.client.post(dayone.url(path)).header("accept", HTML);
    request.header("content-type", "application/x-www-form-urlencoded").body(form.to_owned())
}

/// The cookie of a new session: `name=value`.
async fn log_in(dayone: &Dayone) -> String {
    let answer = Answer::of(form(dayone, "/login", &format!("token={TOKEN}&then=%2Fimages"))).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/images"));
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

#[tokio::test]
async fn a_browser_logs_in_and_out() {
    let dayone = with_token().await;
    for path in ["/", "/images", "/bases", "/boots/x", "/images/x"] {
        let answer = Answer::of(dayone.get(path).header("accept", HTML)).await;
        assert_eq!(answer.status, 200, "{path}");
        let page = text(&answer);
        assert!(
            page.contains("<form method=\"post\" action=\"/login\">") && page.contains("type=\"password\""),
            "{page}"
        );
        assert!(page.contains(&format!("name=\"then\" value=\"{path}\"")) && !page.contains("coreos"), "{page}");
    }
    let refused = Answer::of(form(&dayone, "/login", "token=not-a-token-of-this-server&then=/")).await;
    assert_eq!((refused.status.as_u16(), refused.header("set-cookie")), (403, ""));
    assert!(text(&refused).contains("This token is not valid"), "{refused:?}");
    assert!(!text(&refused).contains("not-a-token"));

    let answer = Answer::of(form(&dayone, "/login", &format!("token={TOKEN}&then=//evil.example"))).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/"));
    let cookie = answer.header("set-cookie").to_owned();
    let (session, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    assert!(session.starts_with("dayone-session=") && !cookie.contains(TOKEN), "{cookie}");
    let id = session.split_once('=').unwrap().1;
    assert!(id.len() >= 43, "{id}");
    assert_ne!(log_in(&dayone).await, session, "each login has its own id");

    let get = |path: &str| dayone.get(path).header("accept", HTML).header("cookie", format!("other=1; {session}"));
    let page = text(&Answer::of(get("/bases")).await);
    assert!(page.contains("coreos") && page.contains("action=\"/logout\"") && !page.contains(TOKEN), "{page}");
    let forged = Answer::of(get("/bases").header("host", "dayone.example\"><b>forged")).await;
    assert!(forged.status == 400 && !text(&forged).contains("<b>"), "{}", text(&forged));
    let odd = text(&Answer::of(get("/bases").header("host", "dayone.example&'odd")).await);
    assert!(odd.contains("dayone.example&#38;&#39;odd/v1/images") && !odd.contains("&'odd"), "{odd}");
    let guessed = dayone.get("/bases").header("accept", HTML).header("cookie", format!("dayone-session={TOKEN}"));
    assert!(text(&Answer::of(guessed).await).contains("action=\"/login\""));

    let out = Answer::of(form(&dayone, "/logout", "").header("cookie", session)).await;
    assert_eq!((out.status.as_u16(), out.header("location")), (303, "/"));
    assert_eq!(out.header("set-cookie"), "dayone-session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    assert!(
        text(&Answer::of(get("/bases")).await).contains("action=\"/login\""),
        "the session has ended on the server"
    );
}

#[tokio::test]
async fn a_session_is_of_no_use_to_other_web_sites() {
    let dayone = with_token().await;
    let cookie = log_in(&dayone).await;
    let own = format!("http://{}", dayone.server.api_address());
    let check = || dayone.post("/v1/check", NMSTATE).header("cookie", &cookie);
    assert_eq!(Answer::of(check().header("origin", &own)).await.ok()["errors"], 0);
    assert_eq!(Answer::of(check().header("sec-fetch-site", "same-origin")).await.status, 200);
    let bases = || dayone.get("/v1/bases").header("cookie", &cookie);
    assert_eq!(Answer::of(bases().header("referer", format!("{own}/bases"))).await.status, 200);
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("referer", "http://127.0.0.1:1/"),
        ("x-nothing", "at all"),
    ] {
        for request in [check(), bases(), dayone.get("/live").header("cookie", &cookie)] {
            let answer = Answer::of(request.header(name, value)).await;
            assert_eq!(answer.status, 403, "{name}: {value}");
            answer.problem("foreign-origin");
        }
    }
    assert_eq!(Answer::of(dayone.get("/live")).await.status, 401);
    // Nor can they log a browser in or out.
    for path in ["/login", "/logout"] {
        let foreign = form(&dayone, path, &format!("token={TOKEN}")).header("origin", "https://evil.example");
        Answer::of(foreign.header("cookie", &cookie)).await.problem("foreign-origin");
    }
    let page = dayone.get("/").header("accept", HTML).header("cookie", &cookie);
    assert!(text(&Answer::of(page).await).contains("action=\"/logout\""));
}

#[tokio::test]
async fn a_withdrawn_token_ends_its_sessions() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let path = place.path("tokens");
    let write = |token: &str| {
        std::fs::write(&path, token).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    write(TOKEN);
    let mut config = place.config();
    config.api_clients.add_token_file(&path).unwrap();
    let mut dayone = Dayone::start_with(place, config).await;
    dayone.client = Client::builder().redirect(Policy::none()).build().unwrap();
    let cookie = log_in(&dayone).await;
    let page = || dayone.get("/bases").header("accept", HTML).header("cookie", &cookie);
    assert!(text(&Answer::of(page()).await).contains("coreos"));
    std::fs::write(dayone.place.path("tokens"), "another-token-of-some-length").unwrap();
    let mut changed = dayone.place.config();
    changed.api_clients.add_token_file(&dayone.place.path("tokens")).unwrap();
    dayone.server.configure(changed);
    assert!(text(&Answer::of(page()).await).contains("action=\"/login\""));
}

#[tokio::test]
async fn with_tls_the_cookie_never_leaves_it() {
    let place = Place::new();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(place.path("tls.crt"), cert.pem()).unwrap();
    std::fs::write(place.path("tls.key"), signing_key.serialize_pem()).unwrap();
    let mut config = place.config();
    config.api_clients.add(TOKEN, "the test").unwrap();
    config.api_tls = Some(Tls::from_files(&place.path("tls.crt"), &place.path("tls.key")).unwrap());
    let dayone = Dayone::start_with(place, config).await;
    let root = Certificate::from_pem(cert.pem().as_bytes()).unwrap();
    let client = Client::builder().tls_certs_only([root]).redirect(Policy::none()).build().unwrap();
    let url = format!("https://{}/login", dayone.server.api_address());
    let answer = Answer::of(client.post(url).body(format!("token={TOKEN}"))).await;
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("__Host-dayone-session="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
}

#[tokio::test]
async fn without_tokens_there_is_no_login_and_other_web_sites_are_refused() {
    let dayone = Dayone::start().await;
    let page = text(&Answer::of(dayone.get("/").header("accept", HTML)).await);
    assert!(page.contains("No boots") && !page.contains("/login") && !page.contains("/logout"), "{page}");
    let own = format!("http://{}", dayone.server.api_address());
    assert_eq!(Answer::of(dayone.post("/v1/check", NMSTATE).header("origin", own)).await.status, 200);
    for (name, value) in [("origin", "http://localhost:3000"), ("host", "evil.example")] {
        for request in [dayone.get("/").header("accept", HTML), dayone.get("/live"), dayone.post("/v1/check", NMSTATE)]
        {
            Answer::of(request.header(name, value)).await.problem("foreign-origin");
        }
    }
}
