//! Tasks, which a BMC carries out after it has answered 202 (DSP0266 §13.7; schema `Task` 1.7).

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

/// The shortest and the longest time between two reads of a task.
pub(super) const MIN_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The progress of a task, from one read of its monitor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The task runs, in this state.
    Running(String),
    /// The task has completed.
    Done,
    /// The task has failed, with this state.
    Failed(String),
    /// The monitor answers as the operation would have, which has failed; or the BMC refuses to report the task.
    Refused,
    /// The BMC failed to report the task. It may succeed a little later.
    Unreported,
    /// The BMC has forgotten the task.
    Gone,
}

/// Reads the progress. A task's monitor answers 202 until the operation is complete, and then as the operation would
/// have answered. A `Task` resource always answers 200, with its state in the body. Firmware mixes them up, so both are
/// read.
pub(super) fn progress(status: StatusCode, body: &Value) -> Progress {
    if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
        return Progress::Gone;
    }
    // Firmware also answers with an error status and the failed task.
    if !status.is_success() && body.get("TaskState").is_none() {
        let is_internal = status == StatusCode::INTERNAL_SERVER_ERROR;
        return if is_internal { Progress::Unreported } else { Progress::Refused };
    }
    let Some(state) = body.get("TaskState").and_then(Value::as_str) else {
        return if status == StatusCode::ACCEPTED { Progress::Running("Running".to_owned()) } else { Progress::Done };
    };
    let shown: String = state.chars().filter(|c| !c.is_control()).collect();
    match state {
        "Completed" if body.get("TaskStatus").and_then(Value::as_str) == Some("Critical") => {
            Progress::Failed("Completed with status Critical".to_owned())
        }
        "Completed" => Progress::Done,
        "Exception" | "Killed" | "Cancelled" => Progress::Failed(shown),
        _ => Progress::Running(shown),
    }
}

/// The status of a task that has completed, unless it is `OK`. The task's messages then say what went wrong.
pub(super) fn warning(body: &Value) -> Option<&str> {
    let status = body.get("TaskStatus").and_then(Value::as_str);
    status.filter(|status| !status.is_empty() && !status.eq_ignore_ascii_case("OK"))
}

/// The path to poll: that in `Location`, or else the one that the body names.
pub(super) fn monitor(location: Option<&str>, body: &Value) -> Option<String> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let is_task = text("TaskState").is_some() || text("@odata.type").is_some_and(|name| name.starts_with("#Task."));
    let named = text("TaskMonitor").or_else(|| text("@odata.id").filter(|_| is_task));
    location.or(named).map(str::to_owned)
}

/// How long to wait before the next read.
pub(super) fn pause(reads: u32, retry_after: Option<Duration>) -> Duration {
    let growing = MIN_PAUSE.saturating_mul(1 << reads.min(4));
    retry_after.unwrap_or(growing).clamp(MIN_PAUSE, MAX_PAUSE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn monitors_and_tasks_are_distinguished() {
        let read = |status: u16, body: Value| progress(StatusCode::from_u16(status).unwrap(), &body);
        let running = |state: &str| Progress::Running(state.to_owned());
        let failed = |state: &str| Progress::Failed(state.to_owned());
        assert_eq!(read(202, Value::Null), running("Running"));
        assert_eq!(read(202, json!({"TaskState": "New"})), running("New"));
        assert_eq!(read(200, json!({"TaskState": "Pending"})), running("Pending"));
        assert_eq!(read(202, json!({"TaskState": "Completed"})), Progress::Done);
        assert_eq!(read(204, Value::Null), Progress::Done);
        assert_eq!(read(200, json!({"Image": "x"})), Progress::Done);
        assert_eq!(read(200, json!({"TaskState": "Exception"})), failed("Exception"));
        assert_eq!(
            read(200, json!({"TaskState": "Completed", "TaskStatus": "Critical"})),
            failed("Completed with status Critical")
        );
        assert_eq!(read(400, Value::Null), Progress::Refused);
        assert_eq!(read(500, Value::Null), Progress::Unreported);
        assert_eq!(read(500, json!({"TaskState": "Exception"})), failed("Exception"));
        assert_eq!(read(404, Value::Null), Progress::Gone);
    }

    #[test]
    fn a_status_other_than_ok_is_a_warning() {
        let read =
            |status: &Value| warning(&json!({"TaskState": "Completed", "TaskStatus": status})).map(str::to_owned);
        assert_eq!(read(&json!("Warning")).as_deref(), Some("Warning"));
        for fine in [json!("OK"), json!("Ok"), json!(""), Value::Null, json!(3)] {
            assert_eq!(read(&fine), None, "{fine}");
        }
    }

    #[test]
    fn the_monitor_is_found() {
        let task = json!({"@odata.id": "/t/1", "@odata.type": "#Task.v1_4_3.Task", "TaskState": "New"});
        assert_eq!(monitor(Some("/m/1"), &task).as_deref(), Some("/m/1"));
        assert_eq!(monitor(None, &task).as_deref(), Some("/t/1"));
        assert_eq!(monitor(None, &json!({"TaskMonitor": "/m/2", "@odata.id": "/t/1"})).as_deref(), Some("/m/2"));
        assert_eq!(monitor(None, &json!({"@odata.id": "/redfish/v1/Systems/1"})), None);
    }

    #[test]
    fn the_pause_grows_and_retry_after_counts_within_bounds() {
        assert_eq!(pause(0, None), MIN_PAUSE);
        assert_eq!(pause(40, None), Duration::from_secs(8));
        assert_eq!(pause(0, Some(Duration::from_secs(3))), Duration::from_secs(3));
        assert_eq!(pause(0, Some(Duration::from_hours(1))), MAX_PAUSE);
        assert_eq!(pause(0, Some(Duration::ZERO)), MIN_PAUSE);
    }
}
