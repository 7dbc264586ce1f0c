//! A BMC that repeats what it was sent, in every way: none of it shows, in no error, record or log.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use base64::prelude::*;
use http::header::{AUTHORIZATION, LOCATION};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Credentials, Password, Verification};

mod names;

/// The credential in the URL of an image.
const IMAGE_TOKEN: &str = "uws2ljnfuws2ljnfuws2ljnfuw";

/// How the BMC repeats.
#[derive(Debug, Clone)]
struct Echo {
    token: String,
    has_sessions: bool,
    /// The status of what it refuses.
    status: u16,
}

async fn answer(echo: Echo, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let body = String::from_utf8_lossy(&body).into_owned();
    if path == "/redfish/v1/" {
        let root = json!({"Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}});
        return axum::Json(root).into_response();
    }
    if path == "/redfish/v1/SessionService/Sessions" && echo.has_sessions {
        let location = format!("/redfish/v1/SessionService/Sessions/{}", echo.token);
        return ([("x-auth-token", echo.token.clone()), (LOCATION.as_str(), location)], axum::Json(json!({})))
            .into_response();
    }
    if path.ends_with("/redirect") {
        let location = format!("http://elsewhere.example/login?token={}&{}", echo.token, headers(&head));
        return (StatusCode::FOUND, [(LOCATION.as_str(), location)]).into_response();
    }
    let said = format!("{} {} {path} {body}", headers(&head), echo.token);
    let encoded = BASE64_STANDARD.encode(said.as_bytes());
    let percent = percent(&said);
    let twice = serde_json::Value::from(serde_json::Value::from(said.clone()).to_string()).to_string();
    let messages: Vec<_> = [said, encoded, percent, twice]
        .into_iter()
        .map(|said| json!({"MessageId": "Base.1.8.GeneralError", "Message": said, "MessageArgs": [said], "Resolution": said}))
        .collect();
    let body = json!({"error": {"code": "Base.1.8.GeneralError", "message": body, "@Message.ExtendedInfo": messages}});
    (StatusCode::from_u16(echo.status).unwrap(), axum::Json(body)).into_response()
}

fn headers(head: &http::request::Parts) -> String {
    let shown = [AUTHORIZATION.as_str(), "x-auth-token"].map(|name| {
        let value = head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        format!("{name}: {}", value.unwrap_or_default())
    });
    shown.join(" ")
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// All that is said of a few requests that fail.
fn said(credentials: &Credentials, echo: &Echo) -> String {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut text = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("redfish+http://{}/redfish/v1/Systems/1", listener.local_addr().unwrap());
        let echo = echo.clone();
        let router = Router::new().fallback(move |request: Request| answer(echo.clone(), request));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let target = Target {
            address: address.parse().unwrap(),
            credentials: Some(credentials.clone()),
            verification: Verification::System,
        };
        let options = ClientOptions { pace: Duration::ZERO, retries: 0, ..ClientOptions::default() };
        let client = match Client::connect(&target, &options).await {
            Ok(client) => client,
            Err(error) => return format!("{error} {error:?}"),
        };
        let mut text = Vec::new();
        let limit = Duration::from_secs(5);
        let body = json!({"UserName": credentials.username, "Password": credentials.password.reveal()});
        for error in [
            client.get("/redfish/v1/Systems/1").await.unwrap_err(),
            client.get("/redfish/v1/redirect").await.unwrap_err(),
            client.get(&format!("/redfish/v1/Tasks/i/{IMAGE_TOKEN}/boot.iso")).await.unwrap_err(),
            client.post("/redfish/v1/Systems/1/Actions/x", &body, limit).await.unwrap_err(),
            client.update("/redfish/v1/Systems/1", &body, None, limit).await.unwrap_err(),
        ] {
            text.push(format!("{error} {error:?} {:?}\n", error.messages()));
        }
        text.push(format!("{:?} {:?}\n", client.requests(), client.secrets()));
        let journal = Arc::clone(&client.exchange);
        client.close().await;
        text.push(format!("{:?}\n", journal.journal.records()));
        text.concat()
    });
    text += &String::from_utf8_lossy(&log.0.lock().unwrap());
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 5))]

    #[test]
    fn repeated_secrets_are_masked(
        username in "[a-z]{1,8}", password in "[!-~]{0,6}[0-9!-/]{3}[!-~]{3,10}", token in "[A-Za-z0-9]{12,40}",
        has_sessions: bool, status in prop_oneof![Just(400_u16), Just(401), Just(403), Just(412), Just(500), Just(503)],
    ) {
        let password = Password::from(password);
        let credentials = Credentials::new(username, password).unwrap();
        let said = said(&credentials, &Echo { token: token.clone(), has_sessions, status });
        let (password, pair) = (credentials.password.reveal(), format!("{}:{}", credentials.username, credentials.password.reveal()));
        let quoted = json!(password).to_string();
        let mut secrets = vec![password.to_owned(), quoted.trim_matches('"').to_owned(), percent(password)];
        secrets.extend([BASE64_STANDARD.encode(pair.as_bytes()), BASE64_STANDARD.encode(password.as_bytes())]);
        secrets.push(IMAGE_TOKEN.to_owned());
        // Nobody has told the client what a token is that it was not given.
        if has_sessions {
            secrets.push(token);
        }
        for secret in secrets {
            prop_assert!(!said.contains(&secret), "{} is in\n{}", secret, said);
        }
    }
}
