//! What a BMC does behind an answer 202.

use std::time::Duration;

use http::StatusCode;
use redfish::{Completion, RedfishError};
use serde_json::{Value, json};

use crate::bmc::{Bmc, Canned};

const MONITOR: &str = "/redfish/v1/TaskService/TaskMonitors/1";
const TASK: &str = "/redfish/v1/TaskService/Tasks/1";
const LIMIT: Duration = Duration::from_secs(10);

fn task(status: u16, state: &str) -> Canned {
    Canned::new(
        status,
        &json!({"@odata.id": TASK, "@odata.type": "#Task.v1_4_3.Task", "TaskState": state, "Messages": [
        {"MessageId": "IDRAC.2.8.RAC0720", "Message": "Unable to locate the ISO."}]}),
    )
}

#[tokio::test]
async fn a_monitor_is_polled_until_the_task_ends() {
    let bmc = Bmc::start(false).await;
    bmc.on("POST", "/insert", Canned::new(202, &Value::Null).header("Location", MONITOR).header("Retry-After", "0"));
    bmc.on("GET", MONITOR, task(202, "Running"));
    bmc.on("GET", MONITOR, Canned::new(503, &Value::Null));
    bmc.on("GET", MONITOR, Canned::raw(200, b"<html>Please wait</html>"));
    bmc.on("GET", MONITOR, Canned::new(204, &Value::Null));
    let client = bmc.connect(true).await.unwrap();
    let answer = client.post("/insert", &json!({}), LIMIT).await.unwrap();
    assert_eq!((answer.status, answer.completion), (StatusCode::NO_CONTENT, Completion::Task(MONITOR.to_owned())));
    assert_eq!(bmc.seen("GET", MONITOR).len(), 4);
}

#[tokio::test]
async fn a_task_is_followed_by_its_state() {
    let bmc = Bmc::start(false).await;
    bmc.on("POST", "/insert", task(202, "New"));
    bmc.on("GET", TASK, task(200, "Running"));
    bmc.on("GET", TASK, task(200, "Completed"));
    bmc.on("GET", TASK, task(200, "Exception"));
    let client = bmc.connect(true).await.unwrap();
    let answer = client.post("/insert", &json!({}), LIMIT).await.unwrap();
    assert_eq!(answer.completion, Completion::Task(TASK.to_owned()));
    let error = client.post("/insert", &json!({}), LIMIT).await.unwrap_err();
    assert!(matches!(error, RedfishError::TaskFailed { .. }) && error.says("RAC0720"), "{error}");
    assert!(error.to_string().contains("ended with Exception: Unable to locate the ISO."), "{error}");
}

#[tokio::test]
async fn what_a_bmc_says_of_a_task_that_completes_with_a_warning_is_kept() {
    let bmc = Bmc::start(false).await;
    let client = bmc.connect(true).await.unwrap();
    bmc.on("POST", "/insert", Canned::new(202, &Value::Null).header("Location", TASK));
    let messages =
        json!([{"MessageId": "X.1.0.MountFailed", "Message": "Remote share could not be mounted: HTTP 404"}]);
    for (status, warning) in
        [("OK", None), ("Warning", Some("Warning: Remote share could not be mounted: HTTP 404 (X.1.0.MountFailed)"))]
    {
        let task = json!({"TaskState": "Completed", "TaskStatus": status, "Messages": messages});
        bmc.only("GET", TASK, Canned::new(200, &task));
        let answer = client.post("/insert", &json!({}), LIMIT).await.unwrap();
        assert_eq!((answer.completion, answer.warning.as_deref()), (Completion::Task(TASK.to_owned()), warning));
    }
}

#[tokio::test]
async fn a_task_that_does_not_end_or_is_forgotten_is_reported() {
    let bmc = Bmc::start(false).await;
    bmc.on("POST", "/insert", Canned::new(202, &Value::Null).header("Location", TASK));
    bmc.on("GET", TASK, task(200, "Pending"));
    let client = bmc.connect(true).await.unwrap();
    let error = client.post("/insert", &json!({}), Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(&error, RedfishError::TaskUnfinished { state, .. } if state == "Pending"), "{error}");

    bmc.on("POST", "/forgets", Canned::new(202, &Value::Null).header("Location", "/gone"));
    let answer = client.post("/forgets", &json!({}), LIMIT).await.unwrap();
    assert_eq!(answer.completion, Completion::TaskGone("/gone".to_owned()));
    bmc.on("POST", "/nothing", Canned::new(202, &Value::Null));
    let answer = client.post("/nothing", &json!({}), LIMIT).await.unwrap();
    assert_eq!((answer.status, answer.completion), (StatusCode::ACCEPTED, Completion::Answered));
}

#[tokio::test]
async fn a_bmc_that_fails_to_report_a_task_is_asked_again() {
    let bmc = Bmc::start(false).await;
    bmc.on("POST", "/insert", Canned::new(202, &Value::Null).header("Location", MONITOR));
    // A read is repeated twice by itself.
    for _ in 0..3 {
        bmc.on("GET", MONITOR, Canned::new(500, &Value::Null));
    }
    bmc.on("GET", MONITOR, task(200, "Completed"));
    let client = bmc.connect(true).await.unwrap();
    let answer = client.post("/insert", &json!({}), LIMIT).await.unwrap();
    assert_eq!(answer.completion, Completion::Task(MONITOR.to_owned()));
    assert_eq!(bmc.seen("GET", MONITOR).len(), 4);

    let always = Bmc::start(false).await;
    always.on("POST", "/insert", Canned::new(202, &Value::Null).header("Location", MONITOR));
    let info = json!({"error": {"@Message.ExtendedInfo": [{"MessageId": "Base.1.8.InternalError"}]}});
    always.on("GET", MONITOR, Canned::new(500, &info));
    let client = always.connect(true).await.unwrap();
    let error = client.post("/insert", &json!({}), Duration::from_secs(3)).await.unwrap_err();
    assert!(matches!(error, RedfishError::TaskUnfinished { .. }), "{error}");
    assert!(error.to_string().contains("500 Internal Server Error: Base.1.8.InternalError"), "{error}");
}

#[tokio::test]
async fn a_monitor_that_answers_as_the_operation_would_have_is_an_answer() {
    let bmc = Bmc::start(false).await;
    bmc.on("POST", "/insert", Canned::new(202, &Value::Null).header("Location", MONITOR));
    let info = json!({"error": {"@Message.ExtendedInfo": [{"MessageId": "Base.1.8.ActionParameterUnknown"}]}});
    bmc.on("GET", MONITOR, Canned::new(400, &info));
    let client = bmc.connect(true).await.unwrap();
    let error = client.post("/insert", &json!({}), LIMIT).await.unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::BAD_REQUEST), "{error}");
    assert!(error.says("ActionParameterUnknown"), "{error}");
}
