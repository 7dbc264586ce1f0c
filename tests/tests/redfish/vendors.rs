//! dayone's Redfish client against the BMCs of `fixtures/redfish/`, from the first request to the last: which slot it
//! takes, with which requests it gets an image in, the machine booted from it, and everything as it was.
//!
//! `expected` in a vendor's file:
//!
//! - `vendor`: whom the client takes it for.
//! - `slot`: where an ISO goes; `usb_slot`: where a USB disk would go, `null` if nowhere.
//! - `writes`: every request that changes something, as `[method, path, body, status]`; `IMAGE` is the image's URL. From
//!   a machine that runs to one that has booted from the medium, then the medium out.
//! - `requests`: how many requests that takes in all, from logging in to logging out. Looking again and again until
//!   something is so counts once.
//! - `error`: what the operator is told, where it cannot be done.
//!
//! `UPDATE_GOLDEN=1` writes what is into the files; look at the difference before you believe it.

use std::fs;
use std::time::Duration;

use acceptance::bases::fixtures;
use acceptance::bmc::{EmulatedBmc, Identity, ImageServer, Options, Record, Vendor};
use http::Method;
use redfish::bmc::{Bmc, BmcError, Medium, PowerAction};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(20);

/// A server of images as the vendor wants them.
async fn images(vendor: &Vendor) -> ImageServer {
    let schemes = vendor.behaviour_member("/insert/schemes");
    let https = schemes.as_array().is_some_and(|schemes| !schemes.contains(&json!("http")));
    ImageServer::start(vec![7; 300_000], https.then(|| Identity::of("127.0.0.1"))).await
}

#[tokio::test]
async fn every_vendors_bmc_boots_from_the_image_and_is_left_as_it_was() {
    let mut failures = Vec::new();
    for vendor in Vendor::all() {
        let bmc = EmulatedBmc::start(&vendor, Options::default()).await;
        let images = images(&vendor).await;
        let image = images.url("abcdefghijklmnopqrstuvwxyz");
        let seen = match boot(&bmc, &image).await {
            Ok(seen) => seen,
            Err(error) => json!({"error": error.to_string(), "writes": writes(&bmc, &image)}),
        };
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            update(&vendor.name, &seen);
        } else if seen != vendor.expected {
            failures.push(format!("{}: expected {:#}\nis {seen:#}", vendor.name, vendor.expected));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// A whole boot, and what was seen of it.
async fn boot(emulated: &EmulatedBmc, image: &str) -> Result<Value, BmcError> {
    let bmc = emulated.connect().await?;
    let survey = bmc.survey().await?;
    let plan = Bmc::plan(&survey, Medium::Cd, None)?;
    let usb = Bmc::plan(&survey, Medium::Usb, None).ok();
    let inserted = bmc.insert(&plan, image).await?;
    assert!(inserted.state.is_connected(), "{inserted:?}");
    let set = bmc.boot_once(&plan).await?;
    bmc.power(PowerAction::Cycle { graceful: Duration::from_secs(5) }).await?;
    let boot = emulated.booted(0, LIMIT).await;
    assert_eq!((boot.image.as_deref(), boot.end), (Some(image), Some(Ok(()))), "{plan:#?}\n{set:#?}");
    bmc.restore(&set).await?;
    bmc.eject(&inserted.slot, Some(image)).await?;
    assert!(!bmc.media_state(&inserted.slot).await?.is_connected());
    bmc.close().await;
    assert_eq!(emulated.sessions(), 0, "a session was left behind");
    Ok(json!({
        "vendor": survey.vendor,
        "slot": inserted.slot,
        "usb_slot": usb.map(|plan| plan.slots[0].path.clone()),
        "writes": writes(emulated, image),
        "requests": count(emulated),
    }))
}

fn count(bmc: &EmulatedBmc) -> usize {
    let mut requests: Vec<(Method, String)> =
        bmc.requests().into_iter().map(|record| (record.method, record.path)).collect();
    requests.dedup_by(|one, other| one.0 == Method::GET && one == other);
    requests.len()
}

fn writes(bmc: &EmulatedBmc, image: &str) -> Vec<Value> {
    let line = |Record { method, path, body, status }: Record| {
        let body: Value = serde_json::from_str(&body.to_string().replace(image, "IMAGE")).unwrap();
        json!([method.as_str(), path, body, status])
    };
    bmc.writes().into_iter().map(line).collect()
}

fn update(name: &str, seen: &Value) {
    let path = fixtures("redfish").join(format!("{name}.json"));
    let text = fs::read_to_string(&path).unwrap();
    let (before, _) = text.split_once("\n  \"expected\": ").unwrap();
    let line = |(name, value): (&String, &Value)| match value {
        Value::Array(lines) => {
            let lines: Vec<String> = lines.iter().map(|line| format!("\n      {line}")).collect();
            format!("\n    \"{name}\": [{}\n    ]", lines.join(","))
        }
        value => format!("\n    \"{name}\": {value}"),
    };
    let members: Vec<String> = seen.as_object().unwrap().iter().map(line).collect();
    fs::write(path, format!("{before}\n  \"expected\": {{{}\n  }}\n}}\n", members.join(","))).unwrap();
}
