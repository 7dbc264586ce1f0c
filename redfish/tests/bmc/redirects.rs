//! Which redirects are followed, and for which requests.

use std::time::Duration;

use redfish::RedfishError;
use serde_json::{Value, json};

use crate::bmc::{Bmc, Canned};

const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const SYSTEM: &str = "/redfish/v1/Systems/1";
const LIMIT: Duration = Duration::from_secs(5);

fn system() -> Canned {
    Canned::new(200, &json!({"Id": "1"}))
}

#[tokio::test]
async fn redirects_stay_at_the_bmc_and_lead_only_reads_elsewhere() {
    let other = Bmc::start(false).await;
    other.on("GET", SYSTEM, system());
    let bmc = Bmc::start(false).await;
    let to = |location: &str| Canned::new(308, &Value::Null).header("Location", location);
    bmc.on("GET", "/redfish/v1/old", to(SYSTEM));
    bmc.on("GET", SYSTEM, system());
    bmc.on("GET", "/away", to(&format!("{}{SYSTEM}", other.url)));
    bmc.on("GET", "/relative-away", to(&format!("//{}{SYSTEM}", other.url.strip_prefix("http://").unwrap())));
    bmc.on("GET", "/circle", to("/circle"));
    bmc.on("GET", "/secret", to("https://bob:hunter2@bmc.example/redfish/v1/?sig=hunter2"));
    bmc.on("POST", "/action", to(SYSTEM));
    let client = bmc.connect(true).await.unwrap();
    assert_eq!(client.get("/redfish/v1/old").await.unwrap().path, SYSTEM);
    for (path, says) in [("/away", other.url.as_str()), ("/relative-away", &other.url[7..]), ("/circle", "in a circle")]
    {
        let error = client.get(path).await.unwrap_err();
        assert!(matches!(error, RedfishError::Redirect { .. }) && error.to_string().contains(says), "{error}");
    }
    let error = client.get("/secret").await.unwrap_err().to_string();
    assert!(error.contains("bmc.example") && !error.contains("hunter2") && !error.contains("bob"), "{error}");
    let error = client.post("/action", &json!({}), LIMIT).await.unwrap_err();
    assert!(matches!(error, RedfishError::Redirect { .. }), "{error}");
    assert_eq!(bmc.seen("GET", "/circle").len(), 4);
    assert_eq!(other.seen("GET", SYSTEM).len(), 0, "a password was on its way to another host");
}

#[tokio::test]
async fn a_change_follows_one_redirect_to_its_path_with_or_without_a_slash() {
    let to = |status, location: &str| Canned::new(status, &Value::Null).header("Location", location);
    let done = || Canned::new(204, &Value::Null);
    let bmc = Bmc::start(true).await;
    bmc.on("POST", SESSIONS, to(308, &format!("{}{SESSIONS}/", bmc.url)));
    bmc.on("POST", &format!("{SESSIONS}/"), Canned::new(201, &json!({})).header("X-Auth-Token", "t"));
    bmc.on("POST", "/action", to(301, "/action/"));
    bmc.on("POST", "/action/", done());
    bmc.on("PATCH", "/resource/", to(302, "/resource"));
    bmc.on("PATCH", "/resource", done());
    let client = bmc.connect(true).await.unwrap();
    let body = json!({"a": 1});
    client.post("/action", &body, LIMIT).await.unwrap();
    client.patch("/resource/", &body, None, LIMIT).await.unwrap();
    for (method, path) in [("POST", "/action"), ("POST", "/action/"), ("PATCH", "/resource/"), ("PATCH", "/resource")] {
        let seen = bmc.seen(method, path);
        assert_eq!((seen.len(), &seen[0].body, seen[0].header("x-auth-token")), (1, &body, Some("t")), "{path}");
    }

    bmc.on("POST", "/circle", to(307, "/circle/"));
    bmc.on("POST", "/circle/", to(307, "/circle"));
    bmc.on("POST", "/see", to(303, "/see/"));
    bmc.on("POST", "/away", to(308, "http://192.0.2.1/away/"));
    for path in ["/circle", "/see", "/away"] {
        let error = client.post(path, &body, LIMIT).await.unwrap_err();
        assert!(matches!(error, RedfishError::Redirect { .. }), "{error}");
        assert!(!error.to_string().contains("use it as the BMC's address"), "{error}");
        assert_eq!(bmc.seen("POST", path).len(), 1, "{path}");
    }
    assert_eq!(bmc.seen("POST", "/circle/").len(), 1);

    bmc.only("GET", "/redfish/v1/", to(301, "https://bmc.example/redfish/v1/"));
    let error = bmc.connect(true).await.err().unwrap().to_string();
    assert!(error.contains("use it as the BMC's address"), "{error}");
}
