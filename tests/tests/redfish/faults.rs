//! dayone's Redfish client where BMCs, and the network before them, fail.

use std::time::Duration;

use acceptance::bmc::{EmulatedBmc, Failure, Fault, Identity, ImageServer, Options, Vendor, target};
use redfish::bmc::{Bmc, BmcError, Limits, Medium, Plan, PowerAction, PowerState};
use redfish::{Certificates, RedfishError, Target, Verification};
use serde_json::{Value, json};

const SYSTEM: &str = "/redfish/v1/Systems/1";
const CD: &str = "/redfish/v1/Managers/1/VirtualMedia/2";
const LIMIT: Duration = Duration::from_secs(20);

/// A BMC of a vendor and an image for it.
struct Scene {
    bmc: EmulatedBmc,
    _images: ImageServer,
    image: String,
}

impl Scene {
    async fn of(vendor: Vendor) -> Self {
        let images = ImageServer::start(vec![7; 100_000], None).await;
        let image = images.url("abcdefghijklmnopqrstuvwxyz");
        Self { bmc: EmulatedBmc::start(&vendor, Options::default()).await, _images: images, image }
    }

    /// HPE's, which does nothing odd by itself.
    async fn new() -> Self {
        Self::of(Vendor::named("hpe-ilo6")).await
    }

    async fn planned(&self) -> (Bmc, Plan) {
        let bmc = self.bmc.connect().await.unwrap();
        let survey = bmc.survey().await.unwrap();
        let plan = Bmc::plan(&survey, Medium::Cd, None).unwrap();
        (bmc, plan)
    }

    /// The inserts and ejects that the BMC was asked for.
    fn asked(&self) -> Vec<(String, u16)> {
        let name = |path: &str| path.rsplit('.').next().unwrap().to_owned();
        let media = self.bmc.writes().into_iter().filter(|record| record.path.contains("VirtualMedia."));
        media.map(|record| (name(&record.path), record.status)).collect()
    }
}

fn asked(requests: &[(&str, u16)]) -> Vec<(String, u16)> {
    requests.iter().map(|(name, status)| ((*name).to_owned(), *status)).collect()
}

#[tokio::test]
async fn an_answer_that_is_lost_after_the_insert_is_no_second_insert() {
    let scene = Scene::new().await;
    let (bmc, plan) = scene.planned().await;
    scene.bmc.inject(Fault::new("POST", "InsertMedia", 1, Failure::DropAnswer));
    let inserted = bmc.insert(&plan, &scene.image).await.unwrap();
    assert_eq!(inserted.state.image.as_deref(), Some(&*scene.image));
    assert_eq!(scene.asked(), asked(&[("InsertMedia", 0)]));
}

#[tokio::test]
async fn an_insert_that_was_lost_is_sent_once_more_and_then_said_to_be_lost() {
    let scene = Scene::new().await;
    let (bmc, plan) = scene.planned().await;
    scene.bmc.inject(Fault::new("POST", "InsertMedia", 2, Failure::Drop));
    let error = bmc.insert(&plan, &scene.image).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    scene.bmc.inject(Fault::new("POST", "InsertMedia", 1, Failure::Drop));
    bmc.insert(&plan, &scene.image).await.unwrap();
}

#[tokio::test]
async fn what_a_bmc_does_not_answer_in_time_is_not_waited_for() {
    let scene = Scene::new().await;
    scene.bmc.inject(Fault::new("GET", SYSTEM, usize::MAX, Failure::Delay(LIMIT)));
    let options =
        redfish::ClientOptions { request_timeout: Duration::from_millis(200), retries: 1, ..target::impatient() };
    let bmc = Bmc::connect(&scene.bmc.target(), &options).await.unwrap();
    let begin = std::time::Instant::now();
    let error = bmc.survey().await.unwrap_err();
    assert!(matches!(error, BmcError::Redfish(RedfishError::Timeout { .. })), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn reads_are_repeated_when_connections_break_and_services_are_busy() {
    let scene = Scene::new().await;
    for failure in [Failure::Drop, Failure::Status(503)] {
        scene.bmc.inject(Fault::new("GET", SYSTEM, 1, failure));
    }
    scene.planned().await;
}

#[tokio::test]
async fn an_eject_that_fails_is_tried_again_and_then_reported() {
    let scene = Scene::new().await;
    let (bmc, plan) = scene.planned().await;
    let inserted = bmc.insert(&plan, &scene.image).await.unwrap();
    scene.bmc.inject(Fault::new("POST", "EjectMedia", 2, Failure::Status(500)));
    bmc.eject(&inserted.slot, Some(&scene.image)).await.unwrap();
    assert_eq!(scene.asked()[1..], asked(&[("EjectMedia", 500), ("EjectMedia", 500), ("EjectMedia", 200)]));

    bmc.insert(&plan, &scene.image).await.unwrap();
    scene.bmc.inject(Fault::new("", "EjectMedia", usize::MAX, Failure::Status(500)));
    let error = bmc.eject(&inserted.slot, Some(&scene.image)).await.unwrap_err();
    assert!(matches!(error, BmcError::NotEjected { .. }) && error.to_string().contains(CD), "{error}");
    assert!(error.attempts().len() <= 12, "{:#?}", error.attempts());
}

#[tokio::test]
async fn an_eject_while_the_host_runs_is_refused_by_some_and_said_so() {
    let vendor = Vendor::named("hpe-ilo6").with(json!({"eject": {"needs_power_off": true}}));
    let scene = Scene::of(vendor).await;
    let (bmc, plan) = scene.planned().await;
    let inserted = bmc.insert(&plan, &scene.image).await.unwrap();
    let error = bmc.eject(&inserted.slot, None).await.unwrap_err();
    assert!(error.to_string().contains("switch the host off"), "{error}");
    bmc.power(PowerAction::Off { graceful: Duration::ZERO }).await.unwrap();
    bmc.eject(&inserted.slot, None).await.unwrap();
}

#[tokio::test]
async fn the_image_of_before_is_no_reason_not_to_insert() {
    // The same URL as before, which Supermicro leaves there: nothing is in.
    let scene = Scene::of(Vendor::named("supermicro-x11")).await;
    let slot = "/redfish/v1/Managers/1/VirtualMedia/CD1";
    scene.bmc.set(slot, "/Image", json!(scene.image));
    let (bmc, plan) = scene.planned().await;
    bmc.insert(&plan, &scene.image).await.unwrap();
    assert_eq!(scene.bmc.member(slot, "/Inserted"), json!(true));
    assert!(scene.asked().contains(&("InsertMedia".to_owned(), 202)), "{:?}", scene.asked());
}

#[tokio::test]
async fn somebody_elses_image_is_ejected_before_and_left_alone_after() {
    let scene = Scene::new().await;
    let (bmc, plan) = scene.planned().await;
    let other = scene.image.replace("abc", "xyz");
    bmc.insert(&plan, &other).await.unwrap();
    let inserted = bmc.insert(&plan, &scene.image).await.unwrap();
    assert!(inserted.replaced);
    assert_eq!(scene.asked(), asked(&[("InsertMedia", 200), ("EjectMedia", 200), ("InsertMedia", 200)]));

    bmc.eject(&inserted.slot, Some(&other)).await.unwrap();
    assert_eq!(scene.bmc.member(CD, "/Image"), json!(scene.image));
}

#[tokio::test]
async fn an_idrac_that_still_ejects_is_waited_for() {
    let late = json!({"eject": {"still_inserted_ms": 400, "busy_ms": 250}});
    let scene = Scene::of(Vendor::named("dell-idrac9-systems").with(late)).await;
    let (bmc, plan) = scene.planned().await;
    let other = scene.image.replace("abc", "xyz");
    bmc.insert(&plan, &other).await.unwrap();
    bmc.insert(&plan, &scene.image).await.unwrap();
    assert_eq!(scene.bmc.member(&plan.slots[0].path, "/Image"), json!(scene.image));
}

#[tokio::test]
async fn a_task_that_takes_long_is_waited_for_and_one_that_fails_says_why() {
    for as_task in [true, false] {
        let slow = json!({"insert": {"answer": 202}, "task": {"takes_ms": 1500, "location_is_task": as_task}});
        let scene = Scene::of(Vendor::named("hpe-ilo6").with(slow)).await;
        let (bmc, plan) = scene.planned().await;
        bmc.insert(&plan, &scene.image).await.unwrap();
        assert_eq!(scene.asked(), asked(&[("InsertMedia", 202)]));

        let why = "The image is for another architecture.";
        let fails = json!({"insert": {"answer": 202}, "task": {"fails": why, "location_is_task": as_task}});
        let scene = Scene::of(Vendor::named("hpe-ilo6").with(fails)).await;
        let (bmc, plan) = scene.planned().await;
        let error = bmc.insert(&plan, &scene.image).await.unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn a_task_that_does_not_end_is_given_up() {
    let endless = json!({"insert": {"answer": 202}, "task": {"takes_ms": 60_000}});
    let scene = Scene::of(Vendor::named("hpe-ilo6").with(endless)).await;
    let (bmc, plan) = scene.planned().await;
    let limits = Limits { insert: Duration::from_secs(1), settle: Duration::from_millis(500), ..target::limits() };
    let bmc = bmc.with_limits(limits);
    let begin = std::time::Instant::now();
    let error = bmc.insert(&plan, &scene.image).await.unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}: {error}", begin.elapsed());
}

#[tokio::test]
async fn an_image_that_the_bmc_cannot_read_is_told_from_a_bmc_that_does_not_want_it() {
    for name in ["hpe-ilo6", "dell-idrac9-systems", "supermicro-x12"] {
        let scene = Scene::of(Vendor::named(name)).await;
        let (bmc, plan) = scene.planned().await;
        let nowhere = "http://127.0.0.1:9/i/abcdefghijklmnopqrstuvwxyz/boot.iso";
        let error = bmc.insert(&plan, nowhere).await.unwrap_err();
        assert!(matches!(error, BmcError::ImageUnreachable { .. }), "{name}: {error}");
        let inserts = scene.asked().iter().filter(|(name, _)| name == "InsertMedia").count();
        assert_eq!(inserts, 1, "{name}: {:?}", scene.asked());
    }
}

#[tokio::test]
async fn a_certificate_must_be_one_that_is_known() {
    let identity = Identity::of("127.0.0.1");
    let pem = identity.pem().to_owned();
    let options = Options { identity: Some(identity), ..Options::default() };
    let bmc = EmulatedBmc::start(&Vendor::named("hpe-ilo6"), options).await;
    let connect = async |verification| {
        let target = Target { verification, ..bmc.target() };
        Bmc::connect(&target, &target::impatient()).await.map(drop)
    };
    let refused = |error: BmcError| matches!(error, BmcError::Redfish(RedfishError::Tls { .. }));
    assert!(connect(Verification::System).await.is_err_and(refused));
    let other = Certificates::from_pem(Identity::of("127.0.0.1").pem()).unwrap();
    assert!(connect(Verification::CaFile(other)).await.is_err_and(refused));
    assert_eq!(bmc.requests(), [], "nothing is sent to whom nobody knows");
    connect(Verification::CaFile(Certificates::from_pem(&pem).unwrap())).await.unwrap();
    connect(Verification::Disabled).await.unwrap();
}

#[tokio::test]
async fn a_session_that_is_lost_is_begun_again_and_none_is_left_behind() {
    let scene = Scene::of(Vendor::named("generic-dmtf")).await;
    let (bmc, plan) = scene.planned().await;
    scene.bmc.inject(Fault::new("POST", "InsertMedia", 1, Failure::LoseSession));
    scene.bmc.inject(Fault::new("PATCH", "Systems", 1, Failure::LoseSession));
    bmc.insert(&plan, &scene.image).await.unwrap();
    bmc.boot_once(&plan).await.unwrap();
    assert_eq!(scene.bmc.sessions(), 1);
    bmc.close().await;
    assert_eq!(scene.bmc.sessions(), 0);
}

#[tokio::test]
async fn a_wrong_password_is_tried_once_as_the_next_may_lock_the_account() {
    for name in ["generic-dmtf", "hpe-ilo6"] {
        let scene = Scene::of(Vendor::named(name)).await;
        let target = Target { credentials: Some(target::credentials("wrong")), ..scene.bmc.target() };
        let result = async { Bmc::connect(&target, &target::impatient()).await?.survey().await }.await;
        let error = result.unwrap_err();
        assert!(matches!(error, BmcError::Redfish(RedfishError::NotAuthorized { .. })), "{error}");
        assert!(!error.to_string().contains("wrong"), "{error}");
        let refused = scene.bmc.requests().iter().filter(|record| record.status == 401).count();
        assert_eq!(refused, 1, "{name}: {:#?}", scene.bmc.requests());
    }
}

#[tokio::test]
async fn where_all_sessions_are_taken_the_password_does_unless_the_bmc_wants_a_session() {
    for (name, does) in [("hpe-ilo6", true), ("generic-dmtf", false)] {
        let scene = Scene::of(Vendor::named(name)).await;
        scene.bmc.inject(Fault::new("POST", "Sessions", usize::MAX, Failure::Status(503)));
        let result = async { scene.bmc.connect().await?.survey().await }.await;
        assert_eq!(result.is_ok(), does, "{name}: {result:?}");
    }
}

#[tokio::test]
async fn a_page_for_browsers_is_no_redfish_service() {
    let scene = Scene::new().await;
    scene.bmc.inject(Fault::new("GET", "", usize::MAX, Failure::NotJson));
    let error = scene.bmc.connect().await.map(drop).unwrap_err();
    assert!(error.to_string().contains("the address of a Redfish service"), "{error}");
}

#[tokio::test]
async fn a_system_that_does_not_hear_the_button_is_switched_off() {
    let deaf = json!({"power": {"deaf": true, "takes_ms": 50}});
    let scene = Scene::of(Vendor::named("hpe-ilo6").with(deaf)).await;
    let bmc = scene.bmc.connect().await.unwrap();
    let change = bmc.power(PowerAction::Cycle { graceful: Duration::from_millis(300) }).await.unwrap();
    assert_eq!((change.graceful, change.after), (Some(false), PowerState::On), "{change:#?}");
    let resets: Vec<Value> = scene.bmc.writes().into_iter().map(|record| record.body["ResetType"].clone()).collect();
    assert_eq!(resets, ["GracefulShutdown", "ForceOff", "On"]);
}

#[tokio::test]
async fn another_process_undoes_what_one_has_left() {
    let scene = Scene::new().await;
    let (bmc, plan) = scene.planned().await;
    let inserted = bmc.insert(&plan, &scene.image).await.unwrap();
    let set = bmc.boot_once(&plan).await.unwrap();
    let kept = serde_json::to_string(&(inserted, set)).unwrap();
    drop(bmc);

    let bmc = scene.bmc.connect().await.unwrap();
    let (inserted, set): (redfish::bmc::Inserted, redfish::bmc::BootOverride) = serde_json::from_str(&kept).unwrap();
    assert!(bmc.restore(&set).await.unwrap());
    bmc.eject(&inserted.slot, Some(&scene.image)).await.unwrap();
    let boot = scene.bmc.member(SYSTEM, "/Boot");
    assert_eq!(
        (&boot["BootSourceOverrideEnabled"], &boot["BootSourceOverrideTarget"]),
        (&json!("Disabled"), &json!("None"))
    );
    assert_eq!(scene.bmc.member(CD, "/Inserted"), json!(false));
}

#[tokio::test]
async fn whatever_body_an_eject_wants_it_gets() {
    for (wants, refusals) in [("any", 0), ("object", 0), ("json", 0), ("none", 1)] {
        let scene = Scene::of(Vendor::named("hpe-ilo6").with(json!({"eject": {"body": wants}}))).await;
        let (bmc, plan) = scene.planned().await;
        let inserted = bmc.insert(&plan, &scene.image).await.unwrap();
        bmc.eject(&inserted.slot, Some(&scene.image)).await.unwrap();
        assert_eq!(scene.asked().len(), 2 + refusals, "{wants}: {:?}", scene.asked());
    }
}

#[tokio::test]
async fn a_bmc_that_fetches_by_https_only_says_so_at_once() {
    let scene = Scene::of(Vendor::named("openbmc-bmcweb")).await;
    let (bmc, plan) = scene.planned().await;
    let error = bmc.insert(&plan, &scene.image).await.unwrap_err();
    assert!(matches!(error, BmcError::Url { .. }) && error.to_string().contains("https:// only"), "{error}");
    assert_eq!(error.attempts().len(), 1, "{error:?}");
}
