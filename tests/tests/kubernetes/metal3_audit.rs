//! The audit log of `dayone controller`: which object got which image, and who read which bytes of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use acceptance::kubernetes::ApiServer;
use acceptance::metal3::{Site, image_url};
use acceptance::peers::run_text;
use acceptance::server::dayone;
use serde_json::{Value, json};

fn entries(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    // The last line may be half written.
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn an_object_that_gets_an_image_and_a_client_that_reads_it_are_in_the_log() {
    let site = Site::new(ApiServer::shared());
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("audit.jsonl");
    let settings = site.settings("dayone").with_variable("DAYONE_AUDIT_LOG", log.display().to_string());
    let replica = settings.start_ready("dayone-0");
    let spec = json!({"architecture": "x86_64", "acceptFormats": ["iso"]});
    site.create_image("worker-0", &spec);
    let object = site.wait_until_ready("worker-0");
    let url = image_url(&object).to_owned();
    let (_, bytes) = replica.fetch_range(&url, 0, 4096);
    assert_eq!(bytes.len(), 4096);
    let find = |event: &str| entries(&log).into_iter().find(|entry| entry["event"] == event);
    // A client has paused.
    replica.wait("the read is recorded", Duration::from_secs(40), || find("image-read").is_some());
    let (ordered, read) = (find("image-ordered").unwrap(), find("image-read").unwrap());
    let who = ordered["who"]["object"].as_str().unwrap();
    assert!(who.starts_with("PreprovisioningImage ") && who.ends_with("/worker-0"), "{ordered}");
    assert_eq!((&read["image"], read["host"].as_str()), (&ordered["image"], Some("worker-0")));
    assert_eq!((&read["who"], &read["ranges"]), (&json!("reader"), &json!([[0, 4096]])));

    site.delete_image("worker-0");
    replica.wait("the deletion is recorded", Duration::from_secs(40), || find("image-deleted").is_some());
    assert_eq!(find("image-deleted").unwrap()["image"], ordered["image"]);
    assert_eq!(replica.metric("dayone_audit_failing"), Some(0.0));
    let text = fs::read_to_string(&log).unwrap();
    assert!(!text.contains(url.rsplit('/').nth(1).unwrap()), "no entry has the URL of an image");
    drop(replica);

    let verified = run_text(dayone().args(["audit", "verify"]).arg(&log));
    assert!(verified.contains("the log is intact"), "{verified}");
    let shown = run_text(dayone().args(["audit", "show", "--host", "worker-0"]).arg(&log));
    assert!(shown.contains("object PreprovisioningImage") && shown.contains("ordered the image"), "{shown}");
}
