//! Logging in and out.

use std::time::Duration;

use redfish::{Client, ClientOptions, RedfishError};
use serde_json::{Value, json};

use crate::bmc::{Bmc, Canned};

const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const SYSTEM: &str = "/redfish/v1/Systems/1";
const BASIC: &str = "Basic cm9vdDpodW50ZXIy";

fn created(token: &str, path: &str) -> Canned {
    Canned::new(201, &json!({"Id": "7"})).header("X-Auth-Token", token).header("Location", path)
}

fn system() -> Canned {
    Canned::new(200, &json!({"Id": "1"}))
}

#[tokio::test]
async fn a_session_is_begun_used_and_ended() {
    let bmc = Bmc::start(true).await;
    // Some BMCs write a host that only they know.
    bmc.on("POST", SESSIONS, created("secret-token", &format!("https://internal.example{SESSIONS}/7")));
    bmc.on("GET", SYSTEM, system());
    bmc.on("DELETE", &format!("{SESSIONS}/7"), Canned::new(204, &Value::Null));
    let client = bmc.connect(true).await.unwrap();
    client.get(SYSTEM).await.unwrap();
    let requests = client.requests();
    client.close().await;

    let begun = &bmc.seen("POST", SESSIONS)[0];
    assert_eq!(begun.body, json!({"UserName": "root", "Password": "hunter2"}));
    let read = &bmc.seen("GET", SYSTEM)[0];
    assert_eq!((read.header("x-auth-token"), read.header("authorization")), (Some("secret-token"), None));
    assert_eq!(bmc.seen("GET", "/redfish/v1/")[0].header("authorization"), None);
    let ended = bmc.seen("DELETE", &format!("{SESSIONS}/7"));
    assert_eq!((ended.len(), ended[0].header("x-auth-token")), (1, Some("secret-token")));

    let asked: Vec<_> =
        requests.iter().map(|record| (record.method.as_str(), record.path.as_str(), record.status)).collect();
    assert_eq!(asked, [("GET", "/redfish/v1/", Some(200)), ("POST", SESSIONS, Some(201)), ("GET", SYSTEM, Some(200))]);
    let shown = format!("{requests:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("secret-token"), "{shown}");
}

#[tokio::test]
async fn a_dropped_client_ends_its_session() {
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, created("t", "/redfish/v1/SessionService/Sessions/8"));
    drop(bmc.connect(true).await.unwrap());
    for _ in 0..100 {
        if !bmc.seen("DELETE", &format!("{SESSIONS}/8")).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the session was not ended");
}

#[tokio::test]
async fn the_end_of_a_dropped_clients_session_can_be_waited_for() {
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, created("t", "/redfish/v1/SessionService/Sessions/8"));
    let options = ClientOptions::default();
    let target = bmc.target(true);
    for _ in 0..2 {
        drop(Client::connect(&target, &options).await.unwrap());
    }
    options.unfinished.finished().await;
    assert_eq!(bmc.seen("DELETE", &format!("{SESSIONS}/8")).len(), 2);
}

#[tokio::test]
async fn a_session_ends_even_if_nobody_waits_for_it_any_more() {
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, created("t", "/redfish/v1/SessionService/Sessions/8"));
    let options = ClientOptions::default();
    let client = Client::connect(&bmc.target(true), &options).await.unwrap();
    // Polls the first future once, and drops it.
    tokio::select! {
        biased;
        () = client.close() => panic!("the BMC cannot have answered yet"),
        () = std::future::ready(()) => {}
    }
    options.unfinished.finished().await;
    assert_eq!(bmc.seen("DELETE", &format!("{SESSIONS}/8")).len(), 1);
}

#[tokio::test]
async fn an_old_session_ends_even_if_the_request_is_dropped() {
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, created("first", "/s/1"));
    bmc.on("POST", SESSIONS, created("second", "/s/2"));
    bmc.on("POST", "/reset", Canned::new(401, &Value::Null));
    bmc.on("DELETE", "/s/1", Canned::new(503, &Value::Null).header("Retry-After", "1"));
    bmc.on("DELETE", "/s/1", Canned::new(204, &Value::Null));
    let options = ClientOptions::default();
    let client = Client::connect(&bmc.target(true), &options).await.unwrap();
    let body = json!({});
    let ending = async {
        while bmc.seen("DELETE", "/s/1").is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        _ = client.post("/reset", &body, Duration::from_secs(5)) => panic!("the BMC still has the old session"),
        () = ending => {}
    }
    options.unfinished.finished().await;
    assert_eq!(bmc.seen("DELETE", "/s/1").len(), 2);
}

#[tokio::test]
async fn a_bmc_that_is_busy_when_a_session_begins_is_asked_again() {
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, Canned::new(503, &Value::Null).header("Retry-After", "0"));
    bmc.on("POST", SESSIONS, created("t", &format!("{SESSIONS}/9")));
    bmc.on("GET", SYSTEM, system());
    let client = bmc.connect(true).await.unwrap();
    client.get(SYSTEM).await.unwrap();
    let read = &bmc.seen("GET", SYSTEM)[0];
    assert_eq!((read.header("x-auth-token"), read.header("authorization")), (Some("t"), None));
    assert_eq!(bmc.seen("POST", SESSIONS).len(), 2);
}

#[tokio::test]
async fn without_sessions_the_password_goes_with_each_request() {
    let none = Bmc::start(false).await;
    let not_found = Bmc::start(true).await;
    let not_allowed = Bmc::start(true).await;
    not_allowed.on("POST", SESSIONS, Canned::new(405, &Value::Null));
    let full = Bmc::start(true).await;
    full.on(
        "POST",
        SESSIONS,
        Canned::new(
            503,
            &json!({"error": {"@Message.ExtendedInfo": [
        {"MessageId": "Base.1.8.SessionLimitExceeded"}]}}),
        ),
    );
    let full_with_401 = Bmc::start(true).await;
    let info = json!([{"MessageId": "Base.1.8.SessionLimitExceeded"}]);
    full_with_401.on("POST", SESSIONS, Canned::new(401, &json!({"error": {"@Message.ExtendedInfo": info}})));
    let no_token = Bmc::start(true).await;
    no_token.on("POST", SESSIONS, Canned::new(200, &json!({})));
    let basic_only = Bmc::start(true).await;
    basic_only.on("POST", SESSIONS, Canned::new(401, &Value::Null).header("WWW-Authenticate", "Basic realm=\"x\""));
    for bmc in [none, not_found, not_allowed, full, full_with_401, no_token, basic_only] {
        bmc.on("GET", SYSTEM, system());
        let client = bmc.connect(true).await.unwrap();
        client.get(SYSTEM).await.unwrap();
        client.close().await;
        assert_eq!(bmc.seen("GET", SYSTEM)[0].header("authorization"), Some(BASIC));
    }
}

#[tokio::test]
async fn a_session_that_has_ended_is_begun_again_once() {
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, created("first", "/s/1"));
    bmc.on("POST", SESSIONS, created("second", "/s/2"));
    let unauthorized = || Canned::new(401, &Value::Null);
    bmc.on("POST", "/insert", unauthorized());
    bmc.on("POST", "/insert", Canned::new(204, &Value::Null));
    let client = bmc.connect(true).await.unwrap();
    client.post("/insert", &json!({}), Duration::from_secs(5)).await.unwrap();
    let tokens: Vec<_> =
        bmc.seen("POST", "/insert").iter().map(|seen| seen.header("x-auth-token").unwrap().to_owned()).collect();
    assert_eq!(tokens, ["first", "second"]);

    bmc.on("GET", "/never", unauthorized());
    let error = client.get("/never").await.unwrap_err();
    assert!(matches!(error, RedfishError::NotAuthorized { .. }), "{error}");
    assert_eq!(bmc.seen("GET", "/never").len(), 2, "an account must not be locked by trying on and on");
    client.close().await;
    assert_eq!(bmc.seen("POST", SESSIONS).len(), 3);
    // The BMC may have refused something else, and still have the session.
    let ended = bmc.seen("DELETE", "/s/1");
    assert_eq!((ended.len(), ended[0].header("x-auth-token")), (1, Some("first")));
}

#[tokio::test]
async fn a_bmc_may_say_with_403_that_a_session_has_ended() {
    let refused = |key: &str| {
        let info = json!([{"MessageId": format!("Base.1.8.{key}")}]);
        Canned::new(403, &json!({"error": {"@Message.ExtendedInfo": info}}))
    };
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, created("first", "/s/1"));
    bmc.on("POST", SESSIONS, created("second", "/s/2"));
    bmc.on("POST", "/reset", refused("NoValidSession"));
    bmc.on("POST", "/reset", Canned::new(204, &Value::Null));
    bmc.on("POST", "/forbidden", refused("InsufficientPrivilege"));
    let client = bmc.connect(true).await.unwrap();
    client.post("/reset", &json!({}), Duration::from_secs(5)).await.unwrap();
    let reset = bmc.seen("POST", "/reset");
    let tokens: Vec<_> = reset.iter().map(|seen| seen.header("x-auth-token")).collect();
    assert_eq!(tokens, [Some("first"), Some("second")]);

    let error = client.post("/forbidden", &json!({}), Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(error.status().map(|status| status.as_u16()), Some(403), "{error}");
    assert_eq!((bmc.seen("POST", "/forbidden").len(), bmc.seen("POST", SESSIONS).len()), (1, 2));
}

#[tokio::test]
async fn a_lost_answer_to_a_login_is_not_one_to_the_request_after_it() {
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, created("first", "/s/1"));
    bmc.on("POST", SESSIONS, Canned::silence());
    bmc.on("POST", "/reset", Canned::new(401, &Value::Null));
    let options = ClientOptions { request_timeout: Duration::from_millis(300), retries: 0, ..ClientOptions::default() };
    let client = Client::connect(&bmc.target(true), &options).await.unwrap();
    let error = client.post("/reset", &json!({}), Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, RedfishError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("no answer to the login within 1 s"), "{error}");
    assert_eq!((bmc.seen("POST", "/reset").len(), bmc.seen("POST", SESSIONS).len()), (1, 2));
}

#[tokio::test]
async fn a_session_is_ended_at_a_busy_bmc() {
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, created("t", "/s/1"));
    bmc.on("DELETE", "/s/1", Canned::new(503, &Value::Null).header("Retry-After", "1"));
    bmc.on("DELETE", "/s/1", Canned::new(204, &Value::Null));
    bmc.connect(true).await.unwrap().close().await;
    assert_eq!(bmc.seen("DELETE", "/s/1").len(), 2);
}

#[tokio::test]
async fn a_wrong_password_is_tried_once() {
    let bmc = Bmc::start(true).await;
    bmc.on(
        "POST",
        SESSIONS,
        Canned::new(
            401,
            &json!({"error": {"@Message.ExtendedInfo": [
        {"MessageId": "Base.1.8.ResourceAtUriUnauthorized", "Message": "Password hunter2 of root is wrong"}]}}),
        ),
    );
    let error = bmc.connect(true).await.err().unwrap();
    assert!(matches!(error, RedfishError::NotAuthorized { .. }), "{error}");
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("\"root\"") && shown.contains("is wrong") && !shown.contains("hunter2"), "{shown}");
    assert_eq!(bmc.seen("POST", SESSIONS).len(), 1);

    let nobody = Bmc::start(false).await;
    nobody.on("GET", SYSTEM, Canned::new(401, &Value::Null));
    let error = nobody.connect(false).await.unwrap().get(SYSTEM).await.unwrap_err();
    assert!(matches!(error, RedfishError::CredentialsMissing { .. }), "{error}");
}

#[tokio::test]
async fn a_password_that_is_refused_after_a_session_was_not_granted_may_be_right() {
    let bmc = Bmc::start(true).await;
    let info = |id: &str, text: &str| json!({"error": {"@Message.ExtendedInfo": [{"MessageId": id, "Message": text}]}});
    let full = info("IDRAC.2.8.RAC0218", "The maximum number of user sessions is reached.");
    bmc.on("POST", SESSIONS, Canned::new(503, &full));
    let refused = info("Base.1.8.AccessDenied", "hunter2 is not accepted.");
    bmc.on("GET", SYSTEM, Canned::new(401, &refused));
    let client = bmc.connect(true).await.unwrap();
    let error = client.get(SYSTEM).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, RedfishError::NoSession { .. }), "{text}");
    assert!(error.is_transient(), "somebody else's session ends: {text}");
    assert!(text.contains("The maximum number of user sessions is reached. (IDRAC.2.8.RAC0218)"), "{text}");
    assert!(text.contains("Basic authentication") && text.contains("AccessDenied"), "{text}");
    assert!(!format!("{text} {error:?}").contains("hunter2"), "{text}");
    assert_eq!((bmc.seen("POST", SESSIONS).len(), bmc.seen("GET", SYSTEM).len()), (1, 1));

    // Where there are no sessions, the password is wrong.
    let without = Bmc::start(true).await;
    without.on("GET", SYSTEM, Canned::new(401, &refused));
    let error = without.connect(true).await.unwrap().get(SYSTEM).await.unwrap_err();
    assert!(matches!(error, RedfishError::NotAuthorized { .. }) && !error.is_transient(), "{error}");
}

#[tokio::test]
async fn a_password_that_is_refused_while_all_sessions_are_in_use_is_not_sent_with_the_next_requests() {
    let bmc = Bmc::start(true).await;
    let info = |id: &str| json!({"error": {"@Message.ExtendedInfo": [{"MessageId": id}]}});
    let full = || Canned::new(503, &info("Base.1.8.SessionLimitExceeded"));
    let refused = || Canned::new(401, &info("Base.1.8.NoValidSession"));
    let sessions = [created("first", "/s/1"), full(), full(), full(), created("second", "/s/2"), full()];
    for canned in sessions {
        bmc.on("POST", SESSIONS, canned);
    }
    // The first session has ended, and the BMC takes no password without one. Later, the second one ends, too.
    for canned in [refused(), refused(), system(), refused()] {
        bmc.on("GET", SYSTEM, canned);
    }
    let client = bmc.connect(true).await.unwrap();
    for is_granted in [false, false, false, true, false, false] {
        match client.get(SYSTEM).await {
            Ok(_) => assert!(is_granted),
            Err(error) => {
                assert!(!is_granted && matches!(error, RedfishError::NoSession { .. }), "{error}");
                assert!(error.is_transient() && error.to_string().contains("SessionLimitExceeded"), "{error}");
            }
        }
    }
    let reads = bmc.seen("GET", SYSTEM);
    let tokens: Vec<_> = reads.iter().map(|seen| seen.header("x-auth-token")).collect();
    assert_eq!(tokens, [Some("first"), None, Some("second"), Some("second"), Some("second")]);
    assert_eq!(reads.iter().filter(|seen| seen.header("authorization").is_some()).count(), 1);
    assert_eq!(bmc.seen("POST", SESSIONS).len(), 7);
}

#[tokio::test]
async fn a_password_that_is_refused_in_a_request_and_at_the_login_is_wrong() {
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, created("first", "/s/1"));
    bmc.on("POST", SESSIONS, Canned::new(503, &Value::Null).header("Retry-After", "0"));
    bmc.on("POST", SESSIONS, Canned::new(503, &Value::Null).header("Retry-After", "0"));
    bmc.on("POST", SESSIONS, Canned::new(503, &Value::Null).header("Retry-After", "0"));
    bmc.on("POST", SESSIONS, Canned::new(401, &Value::Null).header("WWW-Authenticate", "Basic"));
    bmc.on("GET", SYSTEM, Canned::new(401, &Value::Null));
    let client = bmc.connect(true).await.unwrap();
    assert!(matches!(client.get(SYSTEM).await.unwrap_err(), RedfishError::NoSession { .. }));
    let error = client.get(SYSTEM).await.unwrap_err();
    assert!(matches!(error, RedfishError::NotAuthorized { .. }) && !error.is_transient(), "{error}");
}

#[tokio::test]
async fn a_password_that_is_refused_with_another_status_is_not_sent_again() {
    for (status, key) in [
        (400, "iLO.2.14.UnauthorizedLoginAttempt"),
        (403, "iLO.2.14.LoginAttemptDelayed"),
        (403, "iLO.2.14.LoginAttemptDelayedSeconds"),
    ] {
        let bmc = Bmc::start(true).await;
        let info = json!([{"MessageId": key, "Message": "wait 10 s"}]);
        bmc.on("POST", SESSIONS, Canned::new(status, &json!({"error": {"@Message.ExtendedInfo": info}})));
        bmc.on("GET", SYSTEM, Canned::new(401, &Value::Null));
        let error = bmc.connect(true).await.err().unwrap();
        assert!(matches!(error, RedfishError::NotAuthorized { .. }), "{error}");
        assert!(error.to_string().contains("wait 10 s"), "{error}");
        assert_eq!((bmc.seen("POST", SESSIONS).len(), bmc.seen("GET", SYSTEM).len()), (1, 0));
    }
}

#[tokio::test]
async fn a_password_that_must_be_changed_is_reported() {
    let info = json!([{"MessageId": "Base.1.8.PasswordChangeRequired", "Message": "change it"}]);
    let at_login = Bmc::start(true).await;
    at_login.on(
        "POST",
        SESSIONS,
        Canned::new(201, &json!({"@Message.ExtendedInfo": info, "@odata.id": "/s/9"})).header("X-Auth-Token", "t"),
    );
    let error = at_login.connect(true).await.err().unwrap();
    assert!(matches!(error, RedfishError::PasswordChangeRequired { .. }), "{error}");
    assert_eq!(at_login.seen("DELETE", "/s/9").len(), 1);

    let later = Bmc::start(false).await;
    later.on("GET", SYSTEM, Canned::new(403, &json!({"error": {"@Message.ExtendedInfo": info}})));
    let error = later.connect(true).await.unwrap().get(SYSTEM).await.unwrap_err();
    assert!(matches!(error, RedfishError::PasswordChangeRequired { .. }), "{error}");
}
