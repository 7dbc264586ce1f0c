//! What people read: messages of conditions, and events.

use super::*;

#[test]
fn long_messages_are_cut_at_a_character() {
    let mut object = object();
    assert!(write(&mut object, &Outcome::Failed(Failure::invalid(&"ä".repeat(40_000)), None, Duration::ZERO), 1));
    let message = &object.status.condition("Error").unwrap().message;
    assert!(message.len() <= 32_768 && message.len() > 32_764 && message.ends_with('ä'), "{}", message.len());
}

#[test]
fn events_report_new_images_their_findings_and_new_errors() {
    let new = ready_object();
    let mut report = Report::new();
    for index in 0..20 {
        report.warning("not-in-keyfiles", &DocumentPath::document("Secret/net").index(index), "x".repeat(2000));
    }
    report.error("nmstate-schema", &DocumentPath::root(), "is not a warning");
    let all = status_events(&PreprovisioningImageStatus::default(), &new.status, Some(&report));
    let ready = &all[0];
    assert_eq!(
        (ready.warning, ready.reason, ready.note.as_str()),
        (false, "ImageReady", "The image is ready: iso for x86_64")
    );
    assert_eq!(all.len(), 11);
    assert!(
        all[1..].iter().all(|event| event.warning && event.reason == "NetworkDataFinding" && event.note.len() <= 1024)
    );
    assert_ne!(all[1].field, all[2].field);
    assert_eq!(status_events(&new.status, &new.status, Some(&report)), []);

    // The Secret's metadata changed, the image did not.
    let mut other_version = new.clone();
    assert!(write(&mut other_version, &published(&new, "http://d/one", "8"), 300));
    assert_eq!(status_events(&new.status, &other_version.status, Some(&report)), []);

    let mut failed = new.clone();
    assert!(write(&mut failed, &Outcome::Failed(Failure::missing_secret(), None, Duration::ZERO), 300));
    let all = status_events(&new.status, &failed.status, None);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].warning, all[0].reason), (true, "MissingNetworkData"));
    assert_eq!(status_events(&failed.status, &failed.status, None), []);
    let mut otherwise = failed.clone();
    assert!(write(&mut otherwise, &Outcome::Failed(Failure::invalid("x"), None, Duration::ZERO), 301));
    assert_eq!(status_events(&failed.status, &otherwise.status, None)[0].reason, "ImageBuildInvalid");
    assert_eq!(status_events(&otherwise.status, &new.status, None).len(), 1);
}
