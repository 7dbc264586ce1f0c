//! BMCs that show a medium without its URL, or write their links as whole URLs.

use std::time::Duration;

use acceptance::bmc::{EmulatedBmc, Failure, Fault, ImageServer, Options, Vendor, target};
use redfish::bmc::{Bmc, Found, Limits, Medium, Plan, PowerAction};
use serde_json::{Value, json};

async fn start(behaviour: Value) -> (EmulatedBmc, Bmc, Plan) {
    let vendor = Vendor::named("generic-dmtf").with(behaviour);
    let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
    let bmc = emulated.connect().await.unwrap();
    let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
    (emulated, bmc, plan)
}

/// The images have the same file name, as all of dayone's do.
#[tokio::test]
async fn a_medium_that_is_connected_counts_however_the_slot_shows_it() {
    let images = ImageServer::start(vec![7; 100_000], None).await;
    for shows in ["url", "file-name", "no-scheme", "nothing"] {
        for keeps_image in [false, true] {
            let about = format!("{shows}, keeps_image: {keeps_image}");
            let quirks = json!({"insert": {"shows": shows}, "eject": {"keeps_image": keeps_image}});
            let (emulated, bmc, plan) = start(quirks).await;
            // This one stays in the slot, as if the server was killed while it inserted it.
            bmc.insert(&plan, &images.url("first")).await.unwrap_or_else(|error| panic!("{about}: {error}"));
            // Before the third, the slot may show what is left of the second.
            for name in ["second", "third"] {
                let image = images.url(name);
                let inserted = bmc.insert(&plan, &image).await.unwrap_or_else(|error| panic!("{about}: {error}"));
                assert_eq!(emulated.inserted(), [image.as_str()], "{about}");
                assert_eq!(inserted.notes.is_empty(), matches!(shows, "url" | "no-scheme"), "{about}: {inserted:?}");
                let shown_as = inserted.shown_as(&image);
                let ejected = bmc.eject_shown(&inserted.slot, &image, shown_as.as_ref()).await.unwrap();
                assert_eq!((ejected.found, emulated.inserted().len()), (Found::Image, 0), "{about}");
            }
        }
    }
}

#[tokio::test]
async fn an_image_without_the_scheme_of_its_url_is_not_inserted_again() {
    let images = ImageServer::start(vec![7; 100_000], None).await;
    for host in ["127.0.0.1", "localhost"] {
        let image = images.url("abcdefghijklmnopqrstuvwxyz").replace("127.0.0.1", host);
        let (_emulated, bmc, plan) = start(json!({"insert": {"shows": "no-scheme"}})).await;
        assert!(bmc.insert(&plan, &image).await.unwrap().form.is_some(), "{host}");
        let again = bmc.insert(&plan, &image).await.unwrap();
        assert_eq!((again.form, again.replaced), (None, false), "{host}");
    }
}

#[tokio::test]
async fn a_medium_of_the_remote_console_is_not_taken_for_the_image() {
    let (emulated, bmc, plan) = start(json!({"insert": {"shows": "nothing"}})).await;
    let bmc = bmc.with_limits(Limits { settle: Duration::from_secs(1), ..target::limits() });
    let slot = &plan.slots[0].path;
    let images = ImageServer::start(vec![7; 100_000], None).await;
    let image = images.url("abcdefghijklmnopqrstuvwxyz");
    // The insert request is lost, and somebody connects a medium while dayone waits for the image.
    let connect = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        for (name, value) in [("Inserted", json!(true)), ("ConnectedVia", json!("Applet"))] {
            emulated.set(slot, &format!("/{name}"), value);
        }
    };
    emulated.inject(Fault::new("POST", "InsertMedia", usize::MAX, Failure::Drop));
    let (inserted, ()) = tokio::join!(bmc.insert(&plan, &image), connect);
    let error = inserted.unwrap_err();
    assert!(error.to_string().contains("Applet"), "{error}");
    assert!(!emulated.writes().iter().any(|write| write.path.contains("EjectMedia")), "{:#?}", emulated.writes());
}

#[tokio::test]
async fn links_may_be_whole_urls() {
    let (emulated, bmc, plan) = start(json!({"absolute_links": true})).await;
    let images = ImageServer::start(vec![7; 100_000], None).await;
    let image = images.url("abcdefghijklmnopqrstuvwxyz");
    let inserted = bmc.insert(&plan, &image).await.unwrap();
    let set = bmc.boot_once(&plan).await.unwrap();
    bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.unwrap();
    let booted = emulated.booted(0, Duration::from_secs(20)).await;
    assert_eq!((booted.image.as_deref(), booted.end), (Some(&*image), Some(Ok(()))));
    bmc.restore(&set).await.unwrap();
    bmc.eject(&inserted.slot, Some(&image)).await.unwrap();
    bmc.close().await;
    assert_eq!((emulated.inserted().len(), emulated.sessions()), (0, 0));
}
