//! The order of the boots in `/v1/boots`.

use dayone::boots::BootSettings;
use serde_json::Value;

use crate::boots::{Silent, host, start};
use crate::support::{Answer, Place};

fn hosts(boots: &Value) -> Vec<&str> {
    boots.as_array().unwrap().iter().map(|boot| boot["host"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn boots_of_one_request_are_listed_in_the_order_of_their_hosts() {
    let bmc = Silent::new();
    let dayone = start(Place::new(), BootSettings { at_once: 1, ..BootSettings::default() }).await;
    let names: Vec<String> = (0..12).map(|number| format!("worker-{number}")).collect();
    let system = |number: usize| bmc.url().replace("Systems/1", &format!("Systems/{number}"));
    let fleet: String = names.iter().enumerate().map(|(number, name)| host(name, &system(number))).collect();
    let begun = Answer::of(dayone.post("/v1/boots?base=coreos", fleet)).await.ok();
    assert_eq!(hosts(&begun["boots"]), names);
    let first = Answer::of(dayone.get("/v1/boots?limit=5")).await.ok();
    let rest = Answer::of(dayone.get(&format!("/v1/boots?after={}", first["next"].as_str().unwrap()))).await.ok();
    assert_eq!([hosts(&first["boots"]), hosts(&rest["boots"])].concat(), names);

    // The server reads the records in any order, and later boots follow them.
    let dayone = dayone.restart().await;
    let last = host("worker-20", &system(20));
    Answer::of(dayone.post("/v1/boots?base=coreos", last)).await.ok();
    let all = Answer::of(dayone.get("/v1/boots")).await.ok();
    let mut listed = hosts(&all["boots"]);
    assert_eq!(listed.pop(), Some("worker-20"));
    assert_eq!(listed, names);
}
