//! Boots by way of `/v1/boots` with faults between dayone and the BMC (sushy-tools behind a proxy), and with dayone
//! killed in the middle of every request that changes something: the host is started or it is said what was not done, and
//! nothing stays inserted without dayone saying so.

use std::thread;
use std::time::Duration;

use acceptance::bases::coreos_iso;
use acceptance::boots::{begin, delete, documents, nothing_shows, show, step, until, until_state};
use acceptance::fault_proxy::{Fault, FaultProxy, general_error};
use acceptance::server::Server;
use acceptance::sushy::{Emulator, Options};
use reqwest::Method;
use serde_json::json;

const PASSWORD: &str = "correct-horse";
/// What the password is in `Authorization: Basic`.
const ENCODED: &str = "YWRtaW46Y29ycmVjdC1ob3JzZQ";
/// The emulator starts no machine, and copies the image: a boot is done when it says that nothing can be seen.
const QUERY: &str = "?base=coreos&wait_for=reading";

/// The requests of a boot and of its end that change something, in their order, and what each is known by.
const CHANGES: [(Method, &str); 6] = [
    (Method::POST, "VirtualMedia.InsertMedia"),
    (Method::PATCH, "\"BootSourceOverrideTarget\":\"Cd\""),
    (Method::POST, "\"ForceOff\""),
    (Method::POST, "\"On\""),
    // This emulator takes no override for one boot only: it is set back with the end of the boot.
    (Method::PATCH, "\"BootSourceOverrideTarget\":\"Hdd\""),
    (Method::POST, "VirtualMedia.EjectMedia"),
];

/// A BMC whose host runs from its disk, with what is between it and dayone.
struct Bmc {
    sushy: Emulator,
    proxy: FaultProxy,
}

impl Bmc {
    fn new(server: &Server, name: &str) -> Self {
        let options = Options { credentials: Some(("admin", PASSWORD)), ..Options::default() };
        let sushy = Emulator::start_with(&server.directory().join(name), &options);
        sushy.boot_cd("UEFI");
        let bmc = Self { proxy: FaultProxy::start(&sushy.origin), sushy };
        bmc.reset();
        bmc
    }

    /// Nothing goes wrong, and the host boots from its disk.
    fn reset(&self) {
        self.proxy.forget();
        self.sushy.change_system(&json!({"Boot": {"BootSourceOverrideTarget": "Hdd"}}));
    }

    fn documents(&self, name: &str) -> String {
        documents(name, &self.proxy.origin(), &self.sushy.system, PASSWORD)
    }

    fn is_inserted(&self) -> bool {
        self.sushy.media()["Inserted"] == json!(true)
    }

    fn target(&self) -> String {
        self.sushy.system_state()["Boot"]["BootSourceOverrideTarget"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn assert_is_as_before(&self, name: &str) {
        assert!(!self.is_inserted(), "{name}: the image is still inserted");
        assert_eq!(self.target(), "Hdd", "{name}");
    }
}

#[test]
fn boots_get_through_faults() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let busy = Fault::Answer(503, vec![("Retry-After", "1".to_owned())], general_error("busy"));
    let faults = [
        ("late", 1, Fault::Late(Duration::from_secs(1))),
        ("late-answer", 1, Fault::LateAnswer(Duration::from_secs(1))),
        ("lost-answer", 1, Fault::LostAnswer),
        ("internal-error", 2, Fault::status(500)),
        ("busy", 1, busy),
        ("accounts-lapse", 1, Fault::Answer(401, Vec::new(), json!({}))),
        ("task", 1, Fault::Task(Duration::from_secs(1))),
    ];
    thread::scope(|scope| {
        for (name, times, fault) in faults {
            let server = &server;
            scope.spawn(move || {
                let bmc = Bmc::new(server, name);
                for (method, part) in CHANGES {
                    bmc.proxy.next(method, part, times, fault.clone());
                }
                let id = begin(server, QUERY, &bmc.documents(name));
                until_state(server, &id, "unknown");
                assert!(bmc.is_inserted(), "{name}: {:#}", show(server, &id));
                delete(server, &id);
                let boot = until(server, &id, "ended", |boot| boot["ended"] == true);
                assert_eq!(boot["state"], "ejected", "{name}: {boot:#}");
                bmc.assert_is_as_before(name);
            });
        }
    });
    nothing_shows(&server, PASSWORD);
    nothing_shows(&server, ENCODED);
}

#[test]
fn boots_that_fail_name_their_step_and_are_undone() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Bmc::new(&server, "bmc");
    for ((method, part), failing) in CHANGES.into_iter().zip(["insert", "boot-override", "power", "power"]) {
        bmc.reset();
        bmc.proxy.next(method.clone(), part, 99, Fault::status(500));
        // There are other words for it.
        bmc.proxy.next(method, "\"ForceOn\"", 99, Fault::status(500));
        let id = begin(&server, QUERY, &bmc.documents(failing));
        let boot = until(&server, &id, "ended", |boot| boot["ended"] == true);
        let failed = step(&boot, failing);
        assert_eq!((&boot["state"], &failed["state"]), (&json!("failed"), &json!("failed")), "{boot:#}");
        let error = failed["error"].as_str().unwrap();
        assert!(error.contains("500 Internal Server Error") && error.contains("fault 500"), "{error}");
        assert_eq!(boot["inserted"], json!(false), "{boot:#}");
        bmc.assert_is_as_before(failing);
    }
    nothing_shows(&server, PASSWORD);
    nothing_shows(&server, ENCODED);
}

#[test]
fn a_medium_that_cannot_be_ejected_is_not_forgotten() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Bmc::new(&server, "bmc");
    let id = begin(&server, QUERY, &bmc.documents("worker-0"));
    until_state(&server, &id, "unknown");
    bmc.proxy.next(Method::POST, "VirtualMedia.EjectMedia", 99, Fault::status(500));
    delete(&server, &id);
    let boot = until(&server, &id, "not ejected", |boot| step(boot, "ejected")["state"] == "failed");
    let error = step(&boot, "ejected")["error"].as_str().unwrap();
    assert!(error.contains("does not eject the medium") && error.contains("VirtualMedia/Cd"), "{error}");
    assert_eq!((&boot["inserted"], &boot["ended"]), (&json!(true), &json!(false)), "{boot:#}");
    assert!(bmc.is_inserted());

    bmc.proxy.forget();
    delete(&server, &id);
    until(&server, &id, "ended", |boot| boot["ended"] == true);
    bmc.assert_is_as_before("after the second try");
}

/// Kills dayone in each request that changes something.
fn killed_in(fault: &Fault) {
    let mut server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Bmc::new(&server, "bmc");
    for (method, part) in CHANGES {
        bmc.reset();
        bmc.proxy.next(method.clone(), part, 1, fault.clone());
        let id = begin(&server, QUERY, &bmc.documents("worker-0"));
        let in_its_end = part.contains("Eject") || part.contains("Hdd");
        if in_its_end {
            until_state(&server, &id, "unknown");
            delete(&server, &id);
        }
        bmc.proxy.wait_for(&method, part);
        // With its answer, where it is the answer that does not come.
        thread::sleep(Duration::from_millis(300));
        server.kill_and_start_again();
        // It goes on meanwhile: what it says changes before the medium goes in, and after it has come out.
        let says_so = || show(&server, &id)["inserted"] == true;
        assert!(says_so() || !bmc.is_inserted() || says_so(), "{part}: {:#}", show(&server, &id));
        if !in_its_end {
            // That the BMC copies the image is known after the restart, too.
            until_state(&server, &id, "unknown");
            assert!(bmc.is_inserted(), "{part}");
            assert_eq!(bmc.sushy.system_state()["PowerState"], "On", "{part}");
            delete(&server, &id);
        }
        let boot = until(&server, &id, "ended", |boot| boot["ended"] == true);
        assert_eq!(boot["state"], "ejected", "{part}: {boot:#}");
        bmc.assert_is_as_before(part);
    }
    nothing_shows(&server, PASSWORD);
    nothing_shows(&server, ENCODED);
}

#[test]
fn a_boot_goes_on_when_dayone_was_killed_before_the_bmc_had_the_request() {
    killed_in(&Fault::Stuck(Duration::from_secs(2)));
}

#[test]
fn a_boot_goes_on_when_dayone_was_killed_before_it_had_the_answer() {
    killed_in(&Fault::LateAnswer(Duration::from_secs(2)));
}

/// What a BMC repeats of the requests that it refuses, in every way, is in no answer, record or log.
#[test]
fn credentials_that_a_bmc_repeats_do_not_show() {
    const FORMS: [&str; 6] = [
        PASSWORD,
        ENCODED,
        "Y29ycmVjdC1ob3JzZQ",
        "%63%6f%72%72%65%63%74%2d%68%6f%72%73%65",
        "636f72726563742d686f727365",
        "correct\\u002dhorse",
    ];
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Bmc::new(&server, "bmc");
    for ((method, part), failing) in CHANGES.into_iter().zip(["insert", "boot-override", "power", "power"]) {
        bmc.reset();
        for (number, form) in FORMS.into_iter().enumerate() {
            let said = format!(
                "refused by fault {number}: Authorization: Basic {ENCODED}, {form} of {{\"Password\":\"{PASSWORD}\"}}"
            );
            bmc.proxy.next(method.clone(), part, 3, Fault::Answer(400, Vec::new(), general_error(&said)));
            bmc.proxy.next(method.clone(), "\"ForceOn\"", 3, Fault::Answer(400, Vec::new(), general_error(&said)));
        }
        let id = begin(&server, QUERY, &bmc.documents(failing));
        let boot = until(&server, &id, "failed", |boot| boot["state"] == "failed" && boot["ended"] == true);
        assert!(step(&boot, failing)["error"].as_str().unwrap().contains("refused by fault"), "{boot:#}");
        for form in FORMS {
            nothing_shows(&server, form);
        }
    }
}
