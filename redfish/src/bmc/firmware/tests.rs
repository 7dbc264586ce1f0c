//! An iDRAC whose list of jobs is longer than a page.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::settings::{Change, NewValue};
use super::{FirmwareRestored, FirmwareSettings, Staging};
use crate::bmc::{Bmc, Limits};
use crate::{ClientOptions, Target, Verification};

const BIOS: &str = "/redfish/v1/Systems/1/Bios";
const STAGED: &str = "/redfish/v1/Systems/1/Bios/Settings";
const JOBS: &str = "/redfish/v1/Managers/1/Oem/Dell/Jobs";
const PAGE: usize = 50;
const URL: &str = "http://192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso";

#[derive(Default)]
struct Idrac {
    jobs: Vec<Value>,
    staged: Value,
    /// Whether the list has a link to its next page.
    links: bool,
    /// Whether it lists the jobs with their properties.
    expands: bool,
}

type Shared = Arc<Mutex<Idrac>>;

async fn answer(State(idrac): State<Shared>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let body: Value = serde_json::from_slice(&to_bytes(body, 1 << 20).await.unwrap()).unwrap_or_default();
    let mut idrac = idrac.lock().unwrap();
    let query = parts.uri.query().unwrap_or_default();
    let of_job = |job: &Value| job["@odata.id"] == parts.uri.path();
    match (&parts.method, parts.uri.path()) {
        (&Method::GET, "/redfish/v1/") => Json(json!({})).into_response(),
        (&Method::GET, BIOS) => Json(json!({"Attributes": {"HttpDev1Uri": ""}})).into_response(),
        (&Method::GET, STAGED) => Json(json!({"Attributes": idrac.staged})).into_response(),
        (&Method::PATCH, STAGED) => {
            idrac.staged = body["Attributes"].clone();
            let path = format!("{JOBS}/JID_900");
            let job = json!({"@odata.id": path, "JobState": "Scheduled", "JobType": "BIOSConfiguration"});
            idrac.jobs.push(job);
            (StatusCode::ACCEPTED, [("Location", "/redfish/v1/TaskService/TaskMonitors/JID_900")]).into_response()
        }
        (&Method::GET, JOBS) if query.contains("expand") && !idrac.expands => StatusCode::BAD_REQUEST.into_response(),
        (&Method::GET, JOBS) => {
            let from = query.rsplit("skip=").next().and_then(|from| from.parse::<usize>().ok()).unwrap_or_default();
            let expand = if idrac.expands { "$expand=*&" } else { "" };
            let page = idrac.jobs.iter().skip(from).take(PAGE);
            let members: Vec<Value> = page
                .map(|job| if idrac.expands { job.clone() } else { json!({"@odata.id": job["@odata.id"]}) })
                .collect();
            let mut list = json!({"Members": members});
            if idrac.links && idrac.jobs.len() > from + PAGE {
                list["Members@odata.nextLink"] = json!(format!("{JOBS}?{expand}$skip={}", from + PAGE));
            }
            Json(list).into_response()
        }
        (&Method::GET, _) => match idrac.jobs.iter().find(|job| of_job(job)) {
            Some(job) => Json(job.clone()).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        },
        (&Method::DELETE, _) => {
            idrac.jobs.retain(|job| !of_job(job));
            idrac.staged = json!({});
            StatusCode::OK.into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Starts an iDRAC with 60 old jobs, and connects.
async fn connect(links: bool, expands: bool) -> (Shared, Bmc) {
    let old = |n: u32| json!({"@odata.id": format!("{JOBS}/JID_{n:03}"), "JobState": "Completed", "JobType": "RealTimeNoRebootConfiguration"});
    let idrac = Idrac { jobs: (0..60).map(old).collect(), staged: json!({}), links, expands };
    let idrac = Arc::new(Mutex::new(idrac));
    let router = Router::new().fallback(answer).with_state(Arc::clone(&idrac));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("idrac-redfish+http://{}/redfish/v1/Systems/1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let target = Target { address: address.parse().unwrap(), credentials: None, verification: Verification::System };
    let options = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let limits = Limits {
        settle: Duration::from_millis(100),
        pause: Duration::from_millis(1),
        poll_interval: Duration::from_millis(10),
        ..Limits::default()
    };
    (idrac, Bmc::connect(&target, &options).await.unwrap().with_limits(limits))
}

fn settings() -> FirmwareSettings {
    let change = Change { attribute: "HttpDev1Uri".to_owned(), before: json!(""), set: NewValue::Url };
    FirmwareSettings {
        bios: BIOS.to_owned(),
        staged: STAGED.to_owned(),
        jobs: Some(JOBS.to_owned()),
        changes: vec![change],
    }
}

#[tokio::test]
async fn a_job_behind_the_first_page_is_found_and_withdrawn() {
    for expands in [true, false] {
        let (idrac, bmc) = connect(true, expands).await;
        let staged = bmc.stage_firmware(&settings(), URL, None).await.unwrap();
        assert_eq!(staged.staging, Staging::NeedsRestart);
        // Another process restores what this one has set.
        assert_eq!(bmc.restore_firmware(&settings(), URL).await.unwrap(), FirmwareRestored::Cancelled);
        let idrac = idrac.lock().unwrap();
        assert_eq!((idrac.jobs.len(), &idrac.staged), (60, &json!({})), "expands: {expands}");
    }
}

#[tokio::test]
async fn a_job_that_is_not_listed_is_found_by_the_answer_to_the_change() {
    let (_, bmc) = connect(false, true).await;
    let staged = bmc.stage_firmware(&settings(), URL, None).await.unwrap();
    assert_eq!(staged.staging, Staging::NeedsRestart);
}
