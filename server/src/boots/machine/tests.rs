use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::boots::evidence::Evidence;
use crate::boots::id::BootId;
use crate::boots::method::BootMethod;
use crate::boots::record::{AtBmc, Started};
use crate::boots::samples::new_boot;

fn boot() -> BootRecord {
    let mut new = new_boot(Some("worker-0"), "192.0.2.1");
    new.options.wait_for = vec![Evidence::CallHome];
    BootRecord::new(BootId::after(None).unwrap(), new, CredentialsSource::Encrypted("c2VhbGVk".to_owned()))
}

fn at_bmc() -> Arc<AtBmc> {
    let plan = json!({
        "vendor": "other", "medium": "cd", "slots": [], "forms": [], "boot": [], "quirks": [],
        "system": {"path": "/redfish/v1/Systems/1", "power_state": "On", "boot": {"source": {}}},
    });
    Arc::new(AtBmc {
        url: None,
        plan: serde_json::from_value(plan).unwrap(),
        slot: None,
        pending: None,
        copied: false,
        boot_override: None,
        started: None,
    })
}

/// A boot whose steps up to `step` are done.
fn done_up_to(step: Step) -> BootRecord {
    let mut boot = boot();
    boot.state = BootState::Running;
    for each in Step::ALL.into_iter().filter(|each| *each <= step) {
        if each == Step::Insert {
            boot.at_bmc = Some(at_bmc());
        }
        boot.begin(each);
        if each == Step::Booted { boot.booted("it has") } else { boot.done(each, "") }
    }
    boot
}

#[test]
fn a_boot_takes_its_steps_and_keeps_its_medium() {
    let mut boot = boot();
    assert_eq!((boot.work(), boot.next_step()), (Work::Boot, Some(Step::Image)));
    for (step, next) in Step::ALL.into_iter().zip(Step::ALL.into_iter().skip(1)).take(5) {
        boot = done_up_to(step);
        assert_eq!((boot.work(), boot.next_step()), (Work::Boot, Some(next)));
    }
    let mut boot = done_up_to(Step::Booted);
    assert_eq!((boot.work(), boot.next_step(), boot.is_inserted()), (Work::Rest, None, true));
    assert!(matches!(boot.bmc.credentials, CredentialsSource::Encrypted(_)), "they are needed to eject");

    boot.delete();
    assert_eq!((boot.state, boot.work()), (BootState::Ejecting, Work::Eject));
    boot.ejected("");
    assert_eq!((boot.state, boot.work(), boot.is_inserted()), (BootState::Ejected, Work::Ended, false));
    assert_eq!(boot.bmc.credentials, CredentialsSource::Forgotten);
}

#[test]
fn a_boot_that_ejects_by_itself_stays_booted() {
    let mut boot = done_up_to(Step::Booted);
    boot.options.eject = EjectWhen::Booted;
    assert_eq!(boot.work(), Work::Eject);
    boot.begin(Step::Ejected);
    assert_eq!(boot.work(), Work::Eject, "also after a restart in the middle");
    let mut failed = boot.clone();
    boot.ejected("");
    assert_eq!((boot.state, boot.work()), (BootState::Booted, Work::Ended));

    failed.fail(Step::Ejected, "no answer");
    assert_eq!((failed.state, failed.work()), (BootState::Booted, Work::Rest), "it is not tried for ever");
    failed.delete();
    assert_eq!((failed.state, failed.work()), (BootState::Ejecting, Work::Eject));
    failed.fail(Step::Ejected, "no answer");
    assert_eq!((failed.state, failed.work(), failed.is_inserted()), (BootState::Failed, Work::Rest, true));
}

#[test]
fn a_failure_before_power_on_ejects_the_medium_and_a_later_one_does_not() {
    let mut early = done_up_to(Step::Image);
    early.begin(Step::Insert);
    early.fail(Step::Insert, "no answer");
    assert_eq!((early.state, early.work()), (BootState::Failed, Work::Ended), "nothing was touched");
    assert_eq!(early.step(Step::Power).unwrap().state, StepState::Skipped);
    assert_eq!(early.bmc.credentials, CredentialsSource::Forgotten);

    for step in [Step::Insert, Step::BootOverride, Step::Power] {
        let mut boot = done_up_to(Step::Image);
        boot.at_bmc = Some(at_bmc());
        boot.begin(step);
        boot.fail(step, "refused");
        assert_eq!((boot.state, boot.work()), (BootState::Failed, Work::Eject), "{step}");
        boot.begin(Step::Ejected);
        boot.ejected("");
        assert_eq!((boot.state, boot.work()), (BootState::Failed, Work::Ended), "{step}");
    }
    for step in [Step::Reading, Step::Booted] {
        let mut boot = done_up_to(Step::Power);
        boot.begin(step);
        boot.fail(step, "too late");
        assert_eq!((boot.state, boot.work(), boot.is_inserted()), (BootState::Failed, Work::Rest, true), "{step}");
    }
}

#[test]
fn a_boot_by_http_inserts_nothing_and_is_undone_all_the_same() {
    let mut boot = done_up_to(Step::Image);
    boot.method = BootMethod::Http;
    boot.begin(Step::Insert);
    boot.at_bmc = Some(at_bmc());
    boot.skip(Step::Insert, "the firmware fetches the image");
    assert_eq!((boot.work(), boot.next_step()), (Work::Boot, Some(Step::BootOverride)));
    let json = boot.to_json().unwrap();
    assert!(String::from_utf8_lossy(&json).contains("\"method\":\"http\""));
    assert_eq!(BootRecord::from_json(&json, &boot.id.to_string()).unwrap(), boot);

    let mut refused = boot.clone();
    refused.begin(Step::BootOverride);
    refused.fail(Step::BootOverride, "the BMC does not show the URL");
    assert_eq!((refused.state, refused.work()), (BootState::Failed, Work::Eject));
    refused.begin(Step::Ejected);
    refused.ejected("nothing was set");
    assert_eq!((refused.state, refused.work()), (BootState::Failed, Work::Ended));

    for step in [Step::BootOverride, Step::Power, Step::Reading] {
        boot.begin(step);
        boot.done(step, "");
    }
    boot.begin(Step::Booted);
    boot.booted("it called home");
    assert_eq!((boot.work(), boot.is_inserted()), (Work::Rest, true), "the BMC has the URL");
    boot.options.eject = EjectWhen::Booted;
    assert_eq!(boot.work(), Work::Eject);
}

#[test]
fn an_unknown_boot_keeps_its_medium_until_it_is_deleted() {
    for eject in [EjectWhen::Booted, EjectWhen::Deleted] {
        let mut boot = done_up_to(Step::Power);
        boot.options.eject = eject;
        boot.begin(Step::Reading);
        boot.unknown("nothing can be seen");
        assert_eq!((boot.state, boot.work(), boot.next_step()), (BootState::Unknown, Work::Rest, None));
        assert_eq!((boot.is_inserted(), boot.is_ended()), (true, false));
        assert_eq!(boot.step(Step::Reading).unwrap().state, StepState::Skipped);
        assert_eq!(boot.step(Step::Booted).unwrap().state, StepState::Unknown);
        assert_eq!(boot.step(Step::Ejected).unwrap().state, StepState::Waiting);
        assert!(matches!(boot.bmc.credentials, CredentialsSource::Encrypted(_)), "they are needed to eject");
        let json = boot.to_json().unwrap();
        assert_eq!(BootRecord::from_json(&json, &boot.id.to_string()).unwrap(), boot);
        boot.delete();
        assert_eq!((boot.state, boot.work()), (BootState::Ejecting, Work::Eject));
    }
}

#[test]
fn the_records_of_a_boot_share_its_plan() {
    let before = done_up_to(Step::Insert);
    let mut after = before.clone();
    after.at_bmc_mut().unwrap().slot = Some("/redfish/v1/Managers/1/VirtualMedia/1".to_owned());
    let plan = |record: &BootRecord| Arc::clone(&record.at_bmc.as_ref().unwrap().plan);
    assert!(Arc::ptr_eq(&plan(&before), &plan(&after)));
    assert_eq!(before.at_bmc.unwrap().slot, None, "the earlier record stays as it was");
}

#[test]
fn a_host_that_may_have_started_keeps_its_medium_after_a_failure() {
    let mut boot = done_up_to(Step::BootOverride);
    boot.begin(Step::Power);
    boot.at_bmc_mut().unwrap().started = Some(Started { was_off: true, os_running: false, os_running_since: None });
    boot.fail(Step::Power, "the host is powering on and not on after 120 s");
    assert_eq!((boot.state, boot.work(), boot.is_inserted()), (BootState::Failed, Work::Rest, true));
    boot.delete();
    assert_eq!(boot.work(), Work::Eject);
}

#[test]
fn a_record_of_an_older_version_is_read_without_the_new_fields() {
    let mut boot = done_up_to(Step::Power);
    boot.begin(Step::Reading);
    let text = String::from_utf8(boot.to_json().unwrap()).unwrap();
    // What is new is left out where it is not known, so this is the older form.
    assert!(!text.contains("started\":{") && text.contains("\"copied\":false"), "{text}");
    assert!(!text.contains("method"), "{text}");
    let read = BootRecord::from_json(text.as_bytes(), &boot.id.to_string()).unwrap();
    assert_eq!((read.work(), read.next_step()), (Work::Boot, Some(Step::Reading)));
    assert_eq!(read.at_bmc.unwrap().started, None);
}

#[test]
fn a_boot_that_is_deleted_takes_no_further_step() {
    for step in [Step::Image, Step::Insert, Step::Power] {
        let mut boot = done_up_to(step);
        boot.delete();
        assert_eq!((boot.work(), boot.next_step()), (Work::Eject, None), "{step}");
        let skipped = boot.steps().iter().filter(|record| record.step > step && record.step < Step::Ejected);
        assert!(skipped.into_iter().all(|record| record.state == StepState::Skipped), "{boot:?}");
    }
}

#[test]
fn a_boot_that_is_deleted_while_its_host_boots_stays_deleted() {
    let deleted = || {
        let mut boot = done_up_to(Step::Power);
        boot.begin(Step::Reading);
        boot.delete();
        boot
    };
    let mut booted = deleted();
    booted.begin(Step::Booted);
    assert_eq!((booted.work(), booted.next_step()), (Work::Eject, None));
    booted.end_reading();
    booted.booted("it called home");
    assert_eq!((booted.state, booted.work()), (BootState::Ejecting, Work::Eject));
    assert_eq!(booted.step(Step::Booted).unwrap().state, StepState::Done, "the host has booted all the same");
    booted.begin(Step::Ejected);
    booted.ejected("out");
    assert_eq!((booted.state, booted.work()), (BootState::Ejected, Work::Ended));

    let mut unknown = deleted();
    unknown.unknown("nothing can be seen");
    assert_eq!((unknown.state, unknown.work()), (BootState::Ejecting, Work::Eject));
    assert_eq!(unknown.step(Step::Booted).unwrap().state, StepState::Skipped);
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let mut boot = done_up_to(Step::Power);
    boot.remark("something odd");
    let json = boot.to_json().unwrap();
    let name = boot.id.to_string();
    assert_eq!(BootRecord::from_json(&json, &name).unwrap(), boot);
    let text = String::from_utf8(json.clone()).unwrap();
    for (damaged, name, expected) in [
        (text.replace("\"version\":1", "\"version\":2"), name.as_str(), "it has version 2"),
        (text.clone(), "06gq1k2m5v8t3n4p", "it is the record of the boot"),
        (text.replace("\"image\"", "\"picture\""), &name, "it is not a record of a boot: line 1"),
        (text[..text.len() / 2].to_owned(), &name, "it is not a record of a boot: line 1"),
        (String::new(), &name, "it is not a record of a boot: line 1"),
    ] {
        let error = BootRecord::from_json(damaged.as_bytes(), name).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(!format!("{boot:?}").contains("c2VhbGVk"), "{boot:?}");
}

#[test]
fn remarks_are_bounded_and_keep_the_first_and_the_last() {
    let mut boot = boot();
    for number in 0..500 {
        boot.remark(number.to_string());
    }
    assert!(boot.remarks.len() <= 64);
    assert_eq!(boot.remarks.first().unwrap().text, "0");
    assert_eq!(boot.remarks.last().unwrap().text, "499");
}
