//! A boot in every order that a crash or a fault can give it: the whole server with an emulated BMC, once for each request of a boot
//! and for everything that can happen to this request.
//!
//! dayone writes the record of a boot between two requests to the BMC. So a crash before and after each request, with everything that
//! lies between, is a crash between any two steps. [`case`] has one boot with one event, and what must be so in the end.

mod case;
mod site;

use std::sync::Arc;
use std::time::Duration;

use acceptance::bmc::Failure;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::case::{Case, End, Event};

/// How many boots run at once.
const AT_ONCE: usize = 16;

/// Longer than any boot of this test.
const NEVER: Duration = Duration::from_hours(1);

/// What leaves open whether the BMC has carried a request out.
fn crashes() -> Vec<Event> {
    vec![
        Event::Crash(Failure::Delay(NEVER)),
        Event::Crash(Failure::DelayAnswer(NEVER)),
        Event::Fault(Failure::DropAnswer),
    ]
}

/// Everything that can happen to a request.
fn all_events() -> Vec<Event> {
    let faults =
        [Failure::Drop, Failure::Status(503), Failure::DelayAnswer(Duration::from_millis(700)), Failure::LoseSession];
    crashes().into_iter().chain(faults.map(Event::Fault)).collect()
}

/// Runs all cases. Returns how many there were, and what is wrong with them.
async fn explore(vendor: &str, end: End, events: &[Event]) -> (usize, Vec<String>) {
    let calm = Case { vendor: vendor.to_owned(), end, number: 0, event: None };
    let requests = calm.run().await.unwrap_or_else(|wrong| panic!("{vendor}, {end:?}: {wrong}")).requests;
    assert!(requests > 10, "{requests}");
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut cases = JoinSet::new();
    for (number, event) in (0..requests).flat_map(|number| events.iter().map(move |event| (number, event))) {
        let case = Case { vendor: vendor.to_owned(), end, number, event: Some(event.clone()) };
        let places = Arc::clone(&places);
        cases.spawn(async move {
            let _place = places.acquire_owned().await.expect("nobody closes it");
            let name = case.to_string();
            case.run().await.map_err(|wrong| format!("{name}: {wrong}"))
        });
    }
    let (mut count, mut happened, mut wrong) = (0, 0, Vec::new());
    while let Some(ended) = cases.join_next().await {
        count += 1;
        match ended {
            Ok(Ok(outcome)) => happened += usize::from(outcome.has_happened),
            Ok(Err(text)) => wrong.push(text),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    wrong.sort();
    // A boot can be over before its last request: it asks the BMC as often as it must wait.
    assert!((happened + wrong.len()) * 10 > count * 9, "only {happened} events in {count} cases");
    (count, wrong)
}

/// Explores, and panics if anything is wrong.
async fn check(vendor: &str, end: End, events: &[Event]) {
    let (count, wrong) = explore(vendor, end, events).await;
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_to_one_request_a_boot_is_done_once_and_its_medium_comes_out() {
    check("hpe-ilo6", End::WhenBooted, &all_events()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_in_a_boot_that_somebody_deletes_leaves_nothing_at_the_bmc() {
    check("hpe-ilo6", End::Deleted, &crashes()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_in_a_boot_at_a_bmc_with_tasks_leaves_nothing_there() {
    check("generic-dmtf", End::WhenBooted, &crashes()).await;
}
