//! Boots a host once from an image: `insert_and_boot BMC IMAGE-URL [--dry-run]`, with `BMC_USERNAME` and `BMC_PASSWORD`
//! in the environment. With `--dry-run`, it prints the requests and sends none of them.

use std::env;
use std::error::Error;
use std::time::Duration;

use redfish::bmc::{Bmc, Medium, PowerAction};
use redfish::{BmcAddress, ClientOptions, Credentials, Target, Verification};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(address), Some(image)) = (arguments.next(), arguments.next()) else {
        return Err("usage: insert_and_boot BMC IMAGE-URL [--dry-run]".into());
    };
    let is_dry_run = arguments.next().is_some_and(|argument| argument == "--dry-run");
    let credentials = match (env::var("BMC_USERNAME"), env::var("BMC_PASSWORD")) {
        (Ok(username), Ok(password)) => Some(Credentials::new(username, password.into())?),
        _ => None,
    };
    let target = Target { address: address.parse::<BmcAddress>()?, credentials, verification: Verification::System };

    let bmc = Bmc::connect(&target, &ClientOptions::default()).await?;
    let survey = bmc.survey().await?;
    for note in &survey.notes {
        eprintln!("note: {note}");
    }
    let plan = Bmc::plan(&survey, Medium::Cd, None)?;
    for request in plan.requests(&image) {
        println!("{} {} {}", request.method, request.path, request.body);
    }
    if !is_dry_run {
        let inserted = bmc.insert(&plan, &image).await?;
        bmc.boot_once(&plan).await?;
        let power = bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await?;
        println!("{} has the image, and the host is {}", inserted.slot, power.after);
    }
    bmc.close().await;
    Ok(())
}
