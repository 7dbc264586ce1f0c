use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::boots::credentials::CredentialsSource;
use crate::boots::record::{BootRecord, BootState};
use crate::boots::samples::new_boot;
use crate::boots::step::Step;

fn boot(host: &str, bmc: u8) -> Arc<Boot> {
    let new = new_boot(Some(host), &format!("192.0.2.{bmc}"));
    Arc::new(Boot::new(BootRecord::new(BootId::after(None).unwrap(), new, CredentialsSource::None), false))
}

/// A boot that is later than all others: ids are ordered by their milliseconds.
fn later(host: &str, bmc: u8) -> Arc<Boot> {
    std::thread::sleep(Duration::from_millis(2));
    boot(host, bmc)
}

fn fail(boot: &Boot) {
    boot.show(|record| record.fail(Step::Insert, "no"));
}

fn names(listing: &Listing) -> Vec<(&str, &str)> {
    listing.boots().iter().map(|listed| (listed.boot.name.as_str(), listed.group.name())).collect()
}

fn new(boots: &[Arc<Boot>]) -> Arc<Listing> {
    Listing::updated(&Arc::default(), boots)
}

#[test]
fn running_and_failed_boots_come_first_and_names_are_in_natural_order() {
    let boots = [boot("n10", 1), boot("n9", 2), boot("n2", 3), boot("n1", 4), boot("n3", 5)];
    fail(&boots[2]);
    boots[0].show(|record| record.state = BootState::Running);
    boots[3].show(|record| record.booted("called home"));
    let listing = new(&boots);
    let expected = [("n10", "running"), ("n2", "failed"), ("n3", "queued"), ("n9", "queued"), ("n1", "booted")];
    assert_eq!(names(&listing), expected);
    let counts = Counts { total: 5, booted: 1, failed: 1, unknown: 0, running: 1, queued: 2 };
    assert_eq!(listing.counts, counts);
}

#[test]
fn the_last_boot_counts_for_a_host_and_deleted_boots_count_for_none() {
    let (first, second, deleted) = (boot("a", 1), later("a", 1), boot("b", 2));
    fail(&first);
    second.show(|record| record.booted("called home"));
    deleted.show(|record| {
        record.delete();
        record.ejected("out");
    });
    let listing = new(&[first, second, deleted]);
    assert_eq!(names(&listing), [("a", "booted"), ("b", "ejected"), ("a", "earlier")]);
    assert_eq!(listing.counts, Counts { total: 1, booted: 1, ..Counts::default() });
}

#[test]
fn a_host_counts_once_however_the_address_of_its_bmc_is_written() {
    let boot = |address: &str| {
        std::thread::sleep(Duration::from_millis(2));
        let (id, new) = (BootId::after(None).unwrap(), new_boot(Some("a"), address));
        Arc::new(Boot::new(BootRecord::new(id, new, CredentialsSource::None), false))
    };
    let system = |number: u8| boot(&format!("192.0.2.1/redfish/v1/Systems/{number}"));
    for (first, second) in [
        ("192.0.2.1", "https://192.0.2.1/"),
        ("192.0.2.1", "redfish-virtualmedia://[::ffff:192.0.2.1]/redfish/v1/Systems/1/"),
        ("192.0.2.1/redfish/v1/Systems/1", "https://192.0.2.1:443"),
    ] {
        let (first, second) = (boot(first), boot(second));
        fail(&first);
        second.show(|record| record.booted("called home"));
        let listing = new(&[first, second]);
        assert_eq!(names(&listing), [("a", "booted"), ("a", "earlier")]);
        assert_eq!(listing.counts, Counts { total: 1, booted: 1, ..Counts::default() });
    }
    let neighbours = [system(1), system(2)];
    for boot in &neighbours {
        fail(boot);
    }
    assert_eq!(new(&neighbours).counts.total, 2, "two Systems of one BMC");
}

#[test]
fn what_has_not_changed_is_the_same() {
    let boots = [boot("a", 1), boot("b", 2)];
    let first = new(&boots);
    assert!(Arc::ptr_eq(&first, &Listing::updated(&first, &boots)));
    fail(&boots[1]);
    let second = Listing::updated(&first, &boots);
    assert_eq!(names(&second), [("b", "failed"), ("a", "queued")]);
    assert!(Arc::ptr_eq(&first.boots()[0].boot, &second.boots()[1].boot), "a is the same");
    assert_eq!(names(&Listing::updated(&second, &boots[..1])), [("a", "queued")]);
}

proptest! {
    /// Whatever happens to boots, a listing that is kept up to date is the one that is made anew.
    #[test]
    fn updates_lead_to_the_listing_that_is_made_anew(
        changes in proptest::collection::vec((0..8_usize, 0..5_usize), 1..30)
    ) {
        let all: Vec<Arc<Boot>> = (0..8).map(|number| boot(&format!("n{}", number % 5), number % 6)).collect();
        let mut present = Vec::new();
        let mut listing = Arc::default();
        for (number, change) in changes {
            let boot = &all[number];
            match change {
                0 => present.retain(|other: &Arc<Boot>| other.id() != boot.id()),
                1 => fail(boot),
                2 => boot.show(|record| record.state = BootState::Running),
                _ if present.iter().all(|other| other.id() != boot.id()) => present.push(Arc::clone(boot)),
                _ => boot.show_progress(format!("{change} of 5")),
            }
            listing = Listing::updated(&listing, &present);
            let anew = new(&present);
            prop_assert_eq!(names(&listing), names(&anew));
            prop_assert_eq!(listing.counts, anew.counts);
            let revisions = |listing: &Listing| -> Vec<u64> {
                listing.boots().iter().map(|listed| listed.boot.view.revision).collect()
            };
            prop_assert_eq!(revisions(&listing), revisions(&anew));
        }
    }
}
