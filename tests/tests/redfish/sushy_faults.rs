//! Faults between dayone and a Redfish service (sushy-tools behind a proxy): what is asked of the BMC is done all the
//! same, or the error says what was not, and nothing stays inserted that nobody knows of.

use std::pin::Pin;
use std::time::Duration;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::fault_proxy::{Fault, FaultProxy, general_error};
use acceptance::server::Server;
use acceptance::sushy::{Emulator, Options};
use redfish::bmc::{Bmc, BmcError, Limits, Medium, Plan, PowerAction};
use redfish::{ClientOptions, Credentials, Password, Target, Verification};
use reqwest::Method;
use serde_json::{Value, json};

const PASSWORD: &str = "correct horse";
/// What the password is in `Authorization: Basic`.
const ENCODED: &str = "b3BlcmF0b3I6Y29ycmVjdCBob3JzZQ";
const INSERT: &str = "VirtualMedia.InsertMedia";
const EJECT: &str = "VirtualMedia.EjectMedia";
const SLOT: &str = "/VirtualMedia/Cd";
const RESET: &str = "ComputerSystem.Reset";
const SYSTEM: &str = "/Systems/";

/// Long enough for sushy-tools on a busy machine, and short enough to be waited for.
const LIMIT: Duration = Duration::from_secs(3);

fn limits() -> Limits {
    Limits {
        insert: LIMIT,
        settle: LIMIT,
        change: LIMIT,
        power: Duration::from_secs(8),
        firmware: Duration::from_secs(10),
        pause: Duration::from_millis(50),
        poll_interval: Duration::from_millis(50),
    }
}

type Step<'a> = Pin<Box<dyn Future<Output = Result<(), BmcError>> + 'a>>;

/// dayone's image, a BMC that asks for a password, and what is between them.
struct Bench {
    runtime: tokio::runtime::Runtime,
    _server: Server,
    url: String,
    sushy: Emulator,
    proxy: FaultProxy,
}

impl Bench {
    fn new() -> Self {
        let server = Server::start("coreos", &coreos_iso(&[]));
        let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
        let directory = server.directory().join("bmc");
        let options = Options { credentials: Some(("operator", PASSWORD)), ..Options::default() };
        let sushy = Emulator::start_with(&directory, &options);
        let proxy = FaultProxy::start(&sushy.origin);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, url: image["url"].as_str().unwrap().to_owned(), _server: server, sushy, proxy }
    }

    /// Connects, lets the fault in, and does it. What comes of it holds no password.
    #[track_caller]
    fn attempt(
        &self,
        faults: &[(Method, &str, usize, Fault)],
        step: impl for<'a> FnOnce(&'a Bmc, &'a Plan, &'a str) -> Step<'a>,
    ) -> Result<(), String> {
        self.proxy.forget();
        let credentials = Credentials::new("operator".to_owned(), Password::from(PASSWORD.to_owned())).unwrap();
        let target = Target {
            address: self.proxy.origin().parse().unwrap(),
            credentials: Some(credentials),
            verification: Verification::System,
        };
        let outcome = self.runtime.block_on(async {
            let bmc = Bmc::connect(&target, &ClientOptions::default()).await.unwrap().with_limits(limits());
            let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
            for (method, path, times, fault) in faults {
                self.proxy.next(method.clone(), path, *times, fault.clone());
            }
            let outcome = step(&bmc, &plan, &self.url).await;
            bmc.close().await;
            outcome
        });
        outcome.map_err(|error| {
            for shown in [error.to_string(), format!("{error:?}")] {
                assert!(!shown.contains(PASSWORD) && !shown.contains(ENCODED), "{shown}");
            }
            error.to_string()
        })
    }

    /// Nothing is inserted, and the host boots from its disk.
    fn reset(&self) {
        self.sushy.media_action("EjectMedia", &json!({}));
        self.sushy.change_system(&json!({"Boot": {"BootSourceOverrideTarget": "Hdd"}}));
    }

    fn system(&self) -> Value {
        self.sushy.system_state()
    }

    fn has_our_image(&self) -> bool {
        let media = self.sushy.media();
        media["Inserted"] == json!(true) && media["Image"] == json!(self.url)
    }
}

fn insert<'a>(bmc: &'a Bmc, plan: &'a Plan, url: &'a str) -> Step<'a> {
    Box::pin(async move { bmc.insert(plan, url).await.map(drop) })
}

fn eject<'a>(bmc: &'a Bmc, plan: &'a Plan, url: &'a str) -> Step<'a> {
    Box::pin(async move { bmc.eject(&plan.slots[0].path, Some(url)).await.map(drop) })
}

fn boot_once<'a>(bmc: &'a Bmc, plan: &'a Plan, _: &'a str) -> Step<'a> {
    Box::pin(async move { bmc.boot_once(plan).await.map(drop) })
}

fn cycle<'a>(bmc: &'a Bmc, _: &'a Plan, _: &'a str) -> Step<'a> {
    Box::pin(async move { bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.map(drop) })
}

fn boot<'a>(bmc: &'a Bmc, plan: &'a Plan, url: &'a str) -> Step<'a> {
    Box::pin(async move {
        boot_once(bmc, plan, url).await?;
        cycle(bmc, plan, url).await
    })
}

fn busy() -> Fault {
    Fault::Answer(503, vec![("Retry-After", "1".to_owned())], general_error("busy"))
}

/// As when those who look after its accounts start anew.
fn lapse() -> Fault {
    Fault::Answer(401, Vec::new(), json!({}))
}

/// What befalls one request, or some, and is got over.
fn passing() -> [(&'static str, usize, Fault); 7] {
    [
        ("the request is lost", 1, Fault::Lost),
        ("the answer is lost", 1, Fault::LostAnswer),
        ("the request is late", 1, Fault::Late(Duration::from_secs(1))),
        ("the answer is later than it may be", 1, Fault::LateAnswer(LIMIT + Duration::from_secs(1))),
        ("an internal error, twice", 2, Fault::status(500)),
        ("busy, and says until when", 1, busy()),
        ("the accounts lapse", 1, lapse()),
    ]
}

#[test]
fn an_image_is_inserted() {
    let bench = Bench::new();
    for (name, times, fault) in passing() {
        let outcome = bench.attempt(&[(Method::POST, INSERT, times, fault)], insert);
        assert!(outcome.is_ok() && bench.has_our_image(), "{name}: {outcome:?}");
        bench.reset();
    }
    let stale = json!({"Image": "http://192.0.2.1/old.iso", "Inserted": true, "ConnectedVia": "URI"});
    let cases = [
        ("by a task that takes its time", (Method::POST, INSERT, 1, Fault::Task(Duration::from_millis(1500)))),
        ("where there was a medium", (Method::GET, SLOT, 1, Fault::Changed(stale))),
        ("and shown late", (Method::GET, SLOT, 4, Fault::Changed(json!({"Image": null, "Inserted": false})))),
        ("without answers when looked at", (Method::GET, SLOT, 2, Fault::Lost)),
        ("with internal errors when looked at", (Method::GET, SLOT, 2, Fault::status(500))),
    ];
    for (name, fault) in cases {
        let outcome = bench.attempt(&[fault], insert);
        assert!(outcome.is_ok() && bench.has_our_image(), "{name}: {outcome:?}");
        bench.reset();
    }
}

#[test]
fn an_image_that_is_not_inserted_is_not_there_later() {
    let bench = Bench::new();
    let disliked = Fault::FailingTask(general_error("not to its liking"));
    let unseen = Fault::Changed(json!({"Image": null, "Inserted": false}));
    let cases = [
        ((Method::POST, INSERT, 99, Fault::status(500)), ["does not insert the image", "500 Internal Server Error"]),
        ((Method::POST, INSERT, 99, disliked), ["could not fetch the image", "not to its liking"]),
        ((Method::POST, INSERT, 99, Fault::Lost), ["did not answer", "has not inserted it"]),
        ((Method::POST, INSERT, 99, lapse()), ["does not accept the password", "operator"]),
        // It has it, and does not show it.
        ((Method::GET, SLOT, 9999, unseen), ["accepted the image", "has not inserted it within"]),
    ];
    for (fault, said) in cases {
        let error = bench.attempt(&[fault], insert).unwrap_err();
        assert!(said.iter().all(|said| error.contains(said)), "{error}");
        assert_eq!(bench.sushy.media()["Inserted"], json!(false), "{error}");
        bench.reset();
    }
}

#[test]
fn a_medium_is_ejected_or_it_is_said_that_it_is_there() {
    let bench = Bench::new();
    for (name, times, fault) in passing() {
        bench.sushy.insert(&bench.url);
        let outcome = bench.attempt(&[(Method::POST, EJECT, times, fault)], eject);
        assert!(outcome.is_ok() && !bench.has_our_image(), "{name}: {outcome:?}");
    }
    bench.sushy.insert(&bench.url);
    let task = Fault::Task(Duration::from_millis(1500));
    let outcome = bench.attempt(&[(Method::POST, EJECT, 1, task)], eject);
    assert!(outcome.is_ok() && !bench.has_our_image(), "by a task: {outcome:?}");

    bench.sushy.insert(&bench.url);
    for fault in [Fault::status(500), Fault::Lost] {
        let error = bench.attempt(&[(Method::POST, EJECT, 99, fault)], eject).unwrap_err();
        assert!(error.contains("does not eject the medium in") && error.contains(SLOT), "{error}");
        assert!(bench.has_our_image());
    }
}

#[test]
fn the_next_boot_and_no_other_is_from_the_medium() {
    let bench = Bench::new();
    for (name, times, fault) in passing() {
        let outcome = bench.attempt(&[(Method::PATCH, SYSTEM, times, fault)], boot_once);
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
        let seen = bench.proxy.seen();
        let overrides: Vec<_> = seen.iter().filter(|seen| seen.method == "PATCH").collect();
        let once = overrides.iter().all(|seen| seen.body.contains("\"Once\""));
        assert!(once && overrides.last().is_some_and(|seen| seen.forwarded), "{name}: {overrides:#?}");
        assert_eq!(bench.system()["Boot"]["BootSourceOverrideTarget"], "Cd", "{name}");
        bench.reset();
    }
}

#[test]
fn a_host_is_switched_off_and_on() {
    let bench = Bench::new();
    for (name, times, fault) in passing() {
        let outcome = bench.attempt(&[(Method::POST, RESET, times, fault)], cycle);
        assert!(outcome.is_ok() && bench.system()["PowerState"] == "On", "{name}: {outcome:?}");
        bench.reset();
    }
}

#[test]
fn it_is_said_what_of_a_boot_was_not_done() {
    let bench = Bench::new();
    // It is on.
    bench.attempt(&[], cycle).unwrap();
    let cases = [
        ((Method::PATCH, SYSTEM, 99, Fault::status(500)), "does not make the image the source of the next boot"),
        ((Method::PATCH, SYSTEM, 99, Fault::Lost), "does not make the image the source of the next boot"),
        ((Method::POST, RESET, 99, Fault::status(500)), "does not switch the host"),
        ((Method::POST, RESET, 99, Fault::Lost), "look at the BMC's console"),
    ];
    for (fault, said) in cases {
        let error = bench.attempt(&[fault], boot).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
