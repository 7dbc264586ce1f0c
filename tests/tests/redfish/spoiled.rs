//! Resources that are not as they should be: dayone's Redfish client neither panics, nor goes on for ever, nor asks
//! anybody else.

use std::time::Duration;

use acceptance::bmc::{EmulatedBmc, ImageServer, Options, Vendor, target};
use redfish::ClientOptions;
use redfish::bmc::{Bmc, Medium};
use serde_json::{Map, Value, json};

/// The most requests for looking at a BMC, whatever it says: see the bounds on Managers and slots.
const MAX_REQUESTS: usize = 100;
const LIMIT: Duration = Duration::from_secs(20);

/// Looks at a BMC, and ends: well, or with an error that says something.
async fn look(vendor: &Vendor, what: &str) -> usize {
    let emulated = EmulatedBmc::start(vendor, Options::default()).await;
    let target = emulated.target();
    let options = ClientOptions { retries: 0, ..target::impatient() };
    let looked = tokio::spawn(async move {
        let bmc = Bmc::connect(&target, &options).await?;
        let survey = bmc.survey().await?;
        let plan = Bmc::plan(&survey, Medium::Cd, None);
        bmc.close().await;
        plan
    });
    let looked = tokio::time::timeout(LIMIT, looked).await.unwrap_or_else(|_| panic!("{what}: it does not end"));
    if let Err(error) = looked.unwrap_or_else(|panic| panic!("{what}: {panic}")) {
        let text = error.to_string();
        assert!((20..2000).contains(&text.len()) && !text.contains('\n'), "{what}: {text}");
    }
    let requests = emulated.requests().len();
    assert!(requests <= MAX_REQUESTS, "{what}: {requests} requests");
    requests
}

/// Values that are something else than what belongs there.
fn others() -> Vec<Value> {
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    vec![
        Value::Null,
        json!(-1e300),
        json!("x".repeat(100_000)),
        json!([null, 7, {"@odata.id": 7}, {"@odata.id": ""}]),
        json!({"@odata.id": "nowhere", "target": [], "Members": {}}),
        deep,
        json!(vec![json!({"@odata.id": "/redfish/v1/Systems"}); 2000]),
        json!("two\nlines \u{1b}[31m"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_something_else_is_no_end_of_the_client() {
    let others = others();
    let mut next = 0;
    for name in ["hpe-ilo6", "dell-idrac9-systems", "nokia-airframe"] {
        let vendor = Vendor::named(name);
        for (path, resource) in &vendor.resources {
            let members: Vec<&String> =
                resource.as_object().unwrap().keys().filter(|key| *key != "@odata.type").collect();
            for member in members {
                // Each member gets some of the values; all of them would take minutes.
                for other in others.iter().cycle().skip(next).take(2) {
                    let mut spoiled = vendor.clone();
                    spoiled.resources.get_mut(path).unwrap()[member] = other.clone();
                    look(&spoiled, &format!("{name}: {path} {member}: {:.60}", other.to_string())).await;
                }
                next = (next + 3) % others.len();
            }
        }
    }
}

#[tokio::test]
async fn resources_without_end_are_read_to_a_bound() {
    let mut vendor = Vendor::named("generic-dmtf");
    let slots = "/redfish/v1/Systems/437XR1138R2/VirtualMedia";
    let system = "/redfish/v1/Systems/437XR1138R2";
    let links = |path: &str| Value::from(vec![json!({"@odata.id": path}); 500]);
    let members = |resource: &mut Value, members: Value| resource["Members"] = members;
    members(vendor.resources.get_mut(slots).unwrap(), links(&format!("{slots}/CD1")));
    vendor.resources.get_mut(system).unwrap()["Links"]["ManagedBy"] = links("/redfish/v1/Managers/BMC");
    let requests = look(&vendor, "many slots").await;
    assert!(requests < 40, "{requests}");

    let large: Map<String, Value> =
        (0..200_000).map(|n| (format!("Member{n}"), json!("twenty characters at"))).collect();
    vendor.resources.get_mut(system).unwrap()["Oem"] = Value::Object(large);
    look(&vendor, "a large resource").await;
}

#[tokio::test]
async fn links_to_other_hosts_are_not_followed_there() {
    let elsewhere = ImageServer::start(b"{}".to_vec(), None).await;
    let url = elsewhere.url("redfish");
    let authority = url.strip_prefix("http:").unwrap();
    for link in [url.as_str(), authority] {
        for (path, pointer) in [
            ("/redfish/v1", "/Systems/@odata.id"),
            ("/redfish/v1", "/Links/Sessions/@odata.id"),
            ("/redfish/v1/Systems", "/Members/0/@odata.id"),
            ("/redfish/v1/Systems/1", "/Links/ManagedBy/0/@odata.id"),
            ("/redfish/v1/Managers/1", "/VirtualMedia/@odata.id"),
            ("/redfish/v1/Managers/1/VirtualMedia", "/Members/1/@odata.id"),
        ] {
            let mut vendor = Vendor::named("hpe-ilo6");
            *vendor.resources.get_mut(path).unwrap().pointer_mut(pointer).unwrap() = json!(link);
            look(&vendor, &format!("{path}{pointer}: {link}")).await;
        }
    }
    assert_eq!(elsewhere.requests(), 0);
}
