//! What a survey says about slots that a BMC does not show.

use redfish::ClientOptions;
use redfish::bmc::{Bmc as Boots, Survey};
use serde_json::{Value, json};

use crate::bmc::{Bmc, Canned};
use crate::boots::{SLOT, SLOTS, SYSTEM, boot, connected, members, refusal, start};
use crate::managers::{MANAGERS, add_manager, managed};

const LIST: &str = "/redfish/v1/Managers";

fn refused(status: u16) -> Canned {
    refusal(status, "Base.1.8.GeneralError", &[]).header("Retry-After", "0")
}

/// Checks whether a note that begins like this also says that slots may be hidden.
fn check(survey: &Survey, beginning: &str, is_hidden: bool) {
    let is_named = |sentences: &[String]| sentences.iter().any(|sentence| sentence.starts_with(beginning));
    assert!(is_named(&survey.notes), "{beginning}: {survey:?}");
    assert_eq!(is_named(&survey.hidden_slots), is_hidden, "{beginning}: {survey:?}");
}

/// A BMC whose System names no Manager.
async fn unmanaged(systems: &[&str]) -> Bmc {
    let bmc = start().await;
    bmc.only("GET", "/redfish/v1/", Canned::new(200, &json!({"Managers": {"@odata.id": LIST}})));
    bmc.on("GET", "/redfish/v1/Systems", members(systems));
    bmc
}

#[tokio::test]
async fn a_survey_names_slots_that_the_bmc_may_have_but_does_not_show() {
    for (path, status, is_hidden) in [
        (SLOT, 403, true),
        (SLOT, 500, true),
        (SLOT, 404, false),
        (SLOTS, 403, true),
        (SLOTS, 500, true),
        (SLOTS, 404, false),
    ] {
        let bmc = start().await;
        bmc.only("GET", path, refused(status));
        let survey = connected(&bmc).await.survey().await.unwrap();
        check(&survey, &format!("{path} cannot be read"), is_hidden);
    }
}

#[tokio::test]
async fn a_manager_that_cannot_be_read_may_have_slots() {
    for (status, is_hidden) in [(403, true), (500, true), (503, true), (404, false)] {
        for [good, bad] in [MANAGERS, [MANAGERS[1], MANAGERS[0]]] {
            let bmc = start().await;
            managed(&bmc, &MANAGERS, &json!({}));
            add_manager(&bmc, good, &Value::Null);
            bmc.on("GET", bad, refused(status));
            let boots = connected(&bmc).await;
            let beginning = format!("{bad} cannot be read");
            check(&boots.survey().await.unwrap(), &beginning, is_hidden);

            // The System's own slots are the same devices.
            managed(&bmc, &MANAGERS, &json!({"VirtualMedia": {"@odata.id": SLOTS}}));
            let insert = json!({"target": format!("{SLOT}/Actions/VirtualMedia.InsertMedia")});
            let actions = json!({"#VirtualMedia.InsertMedia": insert});
            let both = json!({"MediaTypes": ["CD", "USBStick"], "Actions": actions});
            bmc.only("GET", SLOT, Canned::new(200, &both));
            check(&boots.survey().await.unwrap(), &beginning, false);
        }
    }
}

/// One of them may manage the host, and have slots.
#[tokio::test]
async fn managers_of_which_none_names_the_system_may_have_slots() {
    let bmc = unmanaged(&[SYSTEM, "/redfish/v1/Systems/2"]).await;
    bmc.on("GET", LIST, members(&MANAGERS));
    for manager in MANAGERS {
        add_manager(&bmc, manager, &Value::Null);
    }
    check(&connected(&bmc).await.survey().await.unwrap(), "no Manager that was read names the System", true);
}

/// A medium in the slot of another machine's Manager, or a restart of another machine, would be worse than an error.
#[tokio::test]
async fn a_list_of_systems_that_ends_early_may_have_more() {
    let bmc = start().await;
    let root = json!({"Managers": {"@odata.id": LIST}, "Systems": {"@odata.id": "/redfish/v1/Systems"}});
    bmc.only("GET", "/redfish/v1/", Canned::new(200, &root));
    let next = "/redfish/v1/Systems/2/Members";
    let list = json!({"Members": [{"@odata.id": SYSTEM}], "Members@odata.nextLink": next});
    bmc.on("GET", "/redfish/v1/Systems", Canned::new(200, &list));
    bmc.on("GET", next, refused(403));
    bmc.on("GET", LIST, members(&MANAGERS));
    for manager in MANAGERS {
        add_manager(&bmc, manager, &Value::Null);
    }
    assert_eq!(connected(&bmc).await.survey().await.unwrap().managers.len(), 0);

    let boots = Boots::connect(&bmc.target(true), &ClientOptions::default()).await.unwrap();
    let error = boots.survey().await.unwrap_err();
    assert!(error.to_string().contains(next), "{error}");
}

/// The nodes of an enclosure share a BMC, and some are always off.
#[tokio::test]
async fn another_systems_manager_hides_nothing() {
    let bmc = unmanaged(&[SYSTEM, "/redfish/v1/Systems/2"]).await;
    bmc.only("GET", SYSTEM, Canned::new(200, &json!({"PowerState": "On", "Boot": boot("None", "UEFI")})));
    bmc.on("GET", LIST, members(&MANAGERS));
    bmc.on("GET", MANAGERS[0], refused(503));
    add_manager(&bmc, MANAGERS[1], &json!([{"@odata.id": SYSTEM}]));
    let survey = connected(&bmc).await.survey().await.unwrap();
    check(&survey, &format!("{} cannot be read", MANAGERS[0]), false);
}

#[tokio::test]
async fn managers_that_are_not_listed_may_have_slots() {
    for (status, is_hidden) in [(403, true), (500, true), (404, false)] {
        let bmc = unmanaged(&[SYSTEM]).await;
        bmc.on("GET", LIST, refused(status));
        let survey = connected(&bmc).await.survey().await.unwrap();
        check(&survey, "the Managers cannot be listed", is_hidden);
    }

    // The only Manager that is listed may be that of another System.
    for (systems, managers) in [(&[SYSTEM][..], 1), (&[SYSTEM, "/redfish/v1/Systems/2"][..], 0)] {
        let bmc = unmanaged(systems).await;
        let next = format!("{LIST}/2/Members");
        let list = json!({"Members": [{"@odata.id": MANAGERS[0]}], "Members@odata.nextLink": next});
        bmc.on("GET", LIST, Canned::new(200, &list));
        bmc.on("GET", &next, refused(500));
        add_manager(&bmc, MANAGERS[0], &Value::Null);
        let survey = connected(&bmc).await.survey().await.unwrap();
        check(&survey, "the list of the Managers ends early", true);
        assert_eq!(survey.managers.len(), managers, "{systems:?}: {survey:?}");
    }
}

#[tokio::test]
async fn managers_that_are_not_read_because_there_are_too_many_may_have_slots() {
    let bmc = start().await;
    let managers: Vec<String> = (0..5).map(|number| format!("{LIST}/{number}")).collect();
    managed(&bmc, &managers.iter().map(String::as_str).collect::<Vec<_>>(), &json!({}));
    for manager in &managers {
        add_manager(&bmc, manager, &Value::Null);
    }
    let survey = connected(&bmc).await.survey().await.unwrap();
    check(&survey, "the System has 5 Managers; only the first 4 were read", true);
}
