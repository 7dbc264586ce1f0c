//! Calls home from hosts that boot from the same image.

use std::fs;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use dayone::boots::BootSettings;
use redfish::ClientOptions;
use serde_json::{Value, json};

use crate::boots::{delete, host, start, until};
use crate::emulated_bmc::EmulatedBmc;
use crate::support::{Answer, Dayone, Place};

/// The URL that the host of an image calls, from the script in the image's record.
pub(crate) fn call_home(place: &Place, image: &Value) -> String {
    fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
            Value::Object(members) => members.values().for_each(|value| texts(value, found)),
            _ => {}
        }
    }
    let record = fs::read(place.path(&format!("data/images/{}.json", image.as_str().unwrap()))).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    let mut found = Vec::new();
    texts(&record, &mut found);
    let mut decoded = found.iter().filter_map(|text| String::from_utf8(BASE64.decode(text.as_bytes()).ok()?).ok());
    let script = decoded.find(|text| text.contains("/h/")).unwrap();
    script.lines().find_map(|line| line.strip_prefix("url='")?.strip_suffix('\'')).unwrap().to_owned()
}

/// A part of the time that the BMC takes for its answer.
const JUST_NOW: Duration = Duration::from_millis(500);

async fn metrics(dayone: &Dayone) -> String {
    String::from_utf8(Answer::of(dayone.get("/metrics")).await.body).unwrap()
}

#[tokio::test]
async fn a_call_may_come_from_a_host_whose_boot_has_ended_since() {
    let (bmc, other) = (EmulatedBmc::start().await, EmulatedBmc::start().await);
    bmc.machine.lock().unwrap().slow_after_start = Duration::from_secs(3);
    let client = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let dayone = start(Place::new(), BootSettings { client, ..BootSettings::default() }).await;
    let query = "/v1/boots?base=coreos&wait_for=call-home&wait_for=boot-progress";
    let boot = Answer::of(dayone.post(query, host("worker-0", &bmc.url()))).await.ok()["boots"][0].clone();
    let request = json!({"image": boot["image"], "bmc": {"address": other.url()}, "wait_for": ["boot-progress"]});
    let another = Answer::of(dayone.post_json("/v1/boots", &request)).await.ok()["boots"][0].clone();
    until(&dayone, &another, "started", |boot| boot["steps"][3]["state"] == "done").await;
    until(&dayone, &boot, "started", |boot| boot["steps"][3]["state"] == "done").await;

    // dayone has just asked the BMC for the progress of the boot, and looks for calls when it has the answer.
    let is_asked = || bmc.machine.lock().unwrap().asked_after_start.is_some_and(|at| at.elapsed() < JUST_NOW);
    let begin = Instant::now();
    while !is_asked() {
        assert!(begin.elapsed() < Duration::from_secs(20), "dayone does not ask the BMC");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let call = tokio::spawn(dayone.client.get(call_home(&dayone.place, &boot["image"])).send());
    while !metrics(&dayone).await.contains("dayone_media_connections 1\n") {
        assert!(begin.elapsed() < Duration::from_secs(20), "the call does not arrive");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(delete(&dayone, &another, "").await, 202);
    until(&dayone, &another, "ejected", |boot| boot["state"] == "ejected").await;
    let ignored = |boot: &Value| boot["remarks"].to_string().contains("dayone cannot tell which one it was");
    let boot = until(&dayone, &boot, "decided", |boot| boot["state"] != "running" || ignored(boot)).await;
    assert!(boot["state"] == "running" && ignored(&boot), "{boot:#}");
    call.await.unwrap().unwrap();
}
