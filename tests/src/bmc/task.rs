//! Tasks, for requests that the BMC answers with 202 (DSP0266, clause "Asynchronous operations").

use std::sync::Arc;

use serde_json::json;

use super::Shared;
use super::answer::Answer;
use super::behaviour::ms;

const TASKS: &str = "/redfish/v1/TaskService/Tasks";
const MONITORS: &str = "/redfish/v1/TaskService/TaskMonitors";

/// Does the work before it answers, or as a task.
pub(super) async fn run<W>(shared: &Arc<Shared>, as_task: bool, work: W) -> Answer
where
    W: Future<Output = Answer> + Send + 'static,
{
    if !as_task {
        return work.await;
    }
    let behaviour = shared.behaviour.task.clone();
    let (task, monitor) = {
        let mut state = shared.state();
        let number = state.tasks.len() + 1;
        let (task, monitor) = (format!("{TASKS}/{number}"), format!("{MONITORS}/{number}"));
        state.tasks.insert(monitor.clone(), None);
        let resource = json!({
            "@odata.id": task,
            "@odata.type": "#Task.v1_4_3.Task",
            "Id": number.to_string(),
            "Name": "Task",
            "TaskState": "Running",
            "TaskStatus": "OK",
            "PercentComplete": 0,
            "TaskMonitor": monitor,
            "Messages": [],
        });
        state.tree.insert(&task, resource);
        (task, monitor)
    };
    let location = if behaviour.location_is_task { &task } else { &monitor };
    let answer = Answer::json(202, shared.state().tree.get(&task).cloned().unwrap_or_default()).location(location);
    let shared = Arc::downgrade(shared);
    tokio::spawn(async move {
        tokio::time::sleep(ms(behaviour.takes_ms)).await;
        let answer = match &behaviour.fails {
            Some(text) => Answer::error(400, "GeneralError", text, &[]),
            None => work.await,
        };
        let Some(shared) = shared.upgrade() else { return };
        let mut state = shared.state();
        let (ended, status) = if answer.is_success() { ("Completed", "OK") } else { ("Exception", "Critical") };
        state.tree.set(&task, "/TaskState", json!(ended));
        state.tree.set(&task, "/TaskStatus", json!(status));
        state.tree.set(&task, "/PercentComplete", json!(100));
        state.tree.set(&task, "/Messages", json!(answer.messages()));
        state.tasks.insert(monitor, Some(answer));
    });
    answer
}

/// Answers a GET of a task's monitor. `None` if the path is not that of a monitor.
pub(super) fn monitor(shared: &Shared, path: &str) -> Option<Answer> {
    let answer = shared.state().tasks.get(path)?.clone();
    Some(answer.unwrap_or_else(|| Answer::status(202).location(path)))
}
