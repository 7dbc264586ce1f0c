use std::fs;
use std::path::Path;

use super::*;

fn start(path: &Path) -> Audit {
    let settings = AuditSettings { target: path.to_owned().into(), max_bytes: None };
    Audit::start(&settings, AuditMetrics::default()).unwrap()
}

fn deleted() -> Event {
    Event::ImageDeleted { image: "9f86".to_owned(), host: None }
}

#[tokio::test]
async fn a_request_whose_entry_is_not_on_the_disk_learns_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let audit = start(&path);
    let actor = || Actor::new(Who::token("ci", None), audit.clone());
    let recorded = actor();
    recorded.record(deleted());
    assert!(recorded.is_written().await);
    assert!(fs::read_to_string(&path).unwrap().contains("image-deleted"));

    fs::remove_file(&path).unwrap();
    // A new file cannot take its place.
    fs::create_dir(&path).unwrap();
    let (idle, unrecorded) = (actor(), actor());
    unrecorded.record(deleted());
    assert!(!unrecorded.is_written().await);
    assert!(idle.is_written().await, "a request that has recorded nothing does not wait");
    assert_eq!(audit.lost(), 0, "the entry waits");

    tokio::task::spawn_blocking({
        let audit = audit.clone();
        move || audit.stop()
    })
    .await
    .unwrap();
    assert_eq!(audit.lost(), 1, "an entry that the last attempt could not write counts as lost");
    assert!(!unrecorded.is_written().await);
}

#[tokio::test]
async fn without_a_log_nothing_waits() {
    let actor = Actor::new(Who::local(None), Audit::default());
    actor.record(deleted());
    assert!(actor.is_written().await);
}
