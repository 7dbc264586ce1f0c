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

/// A log whose thread waits for its file, and takes only so many messages.
fn stalled(messages: usize) -> (Audit, mpsc::Receiver<Message>) {
    let (sender, receiver) = mpsc::sync_channel(messages);
    let shared = Arc::new(Shared::default());
    *shared.busy_since.lock() = Instant::now().checked_sub(2 * WAIT);
    (Audit(Some(Arc::new(Open { sender, shared }))), receiver)
}

#[test]
fn a_file_that_hangs_counts_as_one_that_cannot_be_written_and_does_not_hold_up_the_end() {
    for messages in [1, 8] {
        let (audit, _receiver) = stalled(messages);
        for _ in 0..3 {
            audit.record(Who::SERVER, deleted());
        }
        assert_eq!(audit.state(), AuditState::Available);
        audit.notice_stall();
        assert_eq!(audit.state(), AuditState::Unavailable);
        let shared = &audit.0.as_ref().unwrap().shared;
        assert_eq!((shared.metrics.failing.get(), shared.missing()), (1, 3));
        let start = Instant::now();
        assert!(!audit.stop_within(Duration::from_millis(100)));
        assert!(start.elapsed() < WAIT);
    }
}

#[tokio::test]
async fn a_file_that_hung_is_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let audit = start(&path);
    let shared = Arc::clone(&audit.0.as_ref().unwrap().shared);
    shared.is_failing.store(true, Ordering::Relaxed);
    // Nobody records anything meanwhile.
    let begin = Instant::now();
    while audit.state() == AuditState::Unavailable {
        assert!(begin.elapsed() < 2 * WAIT);
        tokio::time::sleep(PAUSE).await;
    }
    let actor = Actor::new(Who::token("ci", None), audit.clone());
    actor.record(deleted());
    assert!(actor.is_written().await);
    assert_eq!(shared.missing(), 0);
    assert!(tokio::task::spawn_blocking(move || audit.stop_within(WAIT)).await.unwrap());
}

#[tokio::test]
async fn without_a_log_nothing_waits() {
    let actor = Actor::new(Who::local(None), Audit::default());
    actor.record(deleted());
    assert!(actor.is_written().await);
}
