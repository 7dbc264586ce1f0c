//! Which Managers' slots a boot uses.

use redfish::bmc::{Bmc as Boots, BmcError, Medium};
use serde_json::{Value, json};

use crate::bmc::{Bmc, Canned};
use crate::boots::{SLOT, SLOTS, SYSTEM, boot, connected, members, planned, refusal, slot, start};

pub(super) const MANAGERS: [&str; 2] = ["/redfish/v1/Managers/2", "/redfish/v1/Managers/1"];

/// A Manager of these Systems with one slot, which is empty.
pub(super) fn add_manager(bmc: &Bmc, manager: &str, systems: &Value) {
    let slots = format!("{manager}/VirtualMedia");
    let links = json!({"ManagerForServers": systems});
    let resource = json!({"Links": links, "VirtualMedia": {"@odata.id": slots}});
    bmc.on("GET", manager, Canned::new(200, &resource));
    let path = format!("{slots}/CD");
    bmc.on("GET", &slots, members(&[path.as_str()]));
    bmc.on("GET", &path, slot(&path, &Value::Null));
}

/// A System of these Managers. `more` are its other properties.
pub(super) fn managed(bmc: &Bmc, managers: &[&str], more: &Value) {
    let managers: Vec<Value> = managers.iter().map(|path| json!({"@odata.id": path})).collect();
    let mut system = json!({"PowerState": "On", "Boot": boot("None", "UEFI"), "Links": {"ManagedBy": managers}});
    if let (Some(system), Some(more)) = (system.as_object_mut(), more.as_object()) {
        system.extend(more.clone());
    }
    bmc.only("GET", SYSTEM, Canned::new(200, &system));
}

#[tokio::test]
async fn the_slots_of_another_systems_manager_are_not_used() {
    let (own, other) = (json!([{"@odata.id": SYSTEM}]), json!([{"@odata.id": "/redfish/v1/Systems/2"}]));
    for (systems, servers, expected) in [
        (&[SYSTEM, "/redfish/v1/Systems/2"][..], [other.clone(), own], Some(MANAGERS[1])),
        (&[SYSTEM, "/redfish/v1/Systems/2"][..], [other.clone(), Value::Null], None),
        (&[SYSTEM][..], [Value::Null, Value::Null], Some(MANAGERS[0])),
    ] {
        let bmc = start().await;
        let root = json!({"Managers": {"@odata.id": "/redfish/v1/Managers"}});
        bmc.only("GET", "/redfish/v1/", Canned::new(200, &root));
        bmc.only("GET", SYSTEM, Canned::new(200, &json!({"PowerState": "On", "Boot": boot("None", "UEFI")})));
        bmc.on("GET", "/redfish/v1/Systems", members(systems));
        bmc.on("GET", "/redfish/v1/Managers", members(&MANAGERS));
        for (manager, servers) in MANAGERS.into_iter().zip(servers) {
            add_manager(&bmc, manager, &servers);
        }
        let survey = connected(&bmc).await.survey().await.unwrap();
        match (Boots::plan(&survey, Medium::Cd, None), expected) {
            (Ok(plan), Some(manager)) => assert!(plan.slots[0].path.starts_with(manager), "{plan:?}"),
            (Err(BmcError::UnknownManager { system, managers }), None) => {
                assert_eq!((system.as_str(), managers), (SYSTEM, MANAGERS.map(str::to_owned).to_vec()));
            }
            (planned, _) => panic!("{systems:?}: {planned:?}"),
        }
    }
}

#[tokio::test]
async fn a_systems_manager_is_found_among_many() {
    let bmc = start().await;
    bmc.only("GET", "/redfish/v1/", Canned::new(200, &json!({"Managers": {"@odata.id": "/redfish/v1/Managers"}})));
    bmc.only("GET", SYSTEM, Canned::new(200, &json!({"PowerState": "On", "Boot": boot("None", "UEFI")})));
    bmc.on("GET", "/redfish/v1/Systems", members(&[SYSTEM, "/redfish/v1/Systems/2"]));
    let managers: Vec<String> = (0..40).map(|number| format!("/redfish/v1/Managers/{number}")).collect();
    bmc.on("GET", "/redfish/v1/Managers", members(&managers.iter().map(String::as_str).collect::<Vec<_>>()));
    for manager in &managers[..39] {
        add_manager(&bmc, manager, &json!([{"@odata.id": "/redfish/v1/Systems/2"}]));
    }
    add_manager(&bmc, &managers[39], &json!([{"@odata.id": SYSTEM}]));
    let (_, plan) = planned(&bmc, None).await;
    assert!(plan.slots[0].path.starts_with(&managers[39]), "{plan:?}");
}

#[tokio::test]
async fn a_manager_that_cannot_be_read_is_not_needed_beside_another_one() {
    for (status, id) in [(403, "Base.1.8.InsufficientPrivilege"), (503, "Base.1.8.ServiceTemporarilyUnavailable")] {
        for [good, bad] in [MANAGERS, [MANAGERS[1], MANAGERS[0]]] {
            let bmc = start().await;
            managed(&bmc, &MANAGERS, &json!({}));
            add_manager(&bmc, good, &Value::Null);
            bmc.on("GET", bad, refusal(status, id, &[]).header("Retry-After", "0"));
            let boots = connected(&bmc).await;
            let survey = boots.survey().await.unwrap();
            assert!(survey.notes.iter().any(|note| note.starts_with(bad)), "{survey:?}");
            let plan = Boots::plan(&survey, Medium::Cd, None).unwrap();
            assert!(plan.slots[0].path.starts_with(good), "{plan:?}");

            // Without slots, the reason is the Manager that could not be read.
            bmc.only("GET", good, Canned::new(200, &json!({})));
            match boots.survey().await {
                Ok(survey) => {
                    let error = Boots::plan(&survey, Medium::Cd, None).unwrap_err();
                    assert!(matches!(error, BmcError::SlotsRefused { .. }) && status == 403, "{error}");
                }
                Err(error) => assert!(error.is_unavailable() && status == 503, "{error}"),
            }

            // No Manager is left.
            managed(&bmc, &[bad], &json!({}));
            let error = boots.survey().await.unwrap_err();
            assert!(error.to_string().contains(bad), "{error}");
        }
    }
}

#[tokio::test]
async fn a_managers_slot_is_used_for_a_medium_that_no_slot_of_the_system_takes() {
    let manager_slots = format!("{}/VirtualMedia", MANAGERS[0]);
    let bmc = start().await;
    managed(&bmc, &MANAGERS[..1], &json!({"VirtualMedia": {"@odata.id": SLOTS}}));
    let insert = json!({"#VirtualMedia.InsertMedia": {"target": format!("{SLOT}/Actions/VirtualMedia.InsertMedia")}});
    bmc.only("GET", SLOT, Canned::new(200, &json!({"MediaTypes": ["USBStick"], "Actions": insert})));
    add_manager(&bmc, MANAGERS[0], &Value::Null);
    let survey = connected(&bmc).await.survey().await.unwrap();
    for (medium, expected) in [(Medium::Cd, MANAGERS[0]), (Medium::Usb, SLOT)] {
        let plan = Boots::plan(&survey, medium, None).unwrap();
        assert!(plan.slots.len() == 1 && plan.slots[0].path.starts_with(expected), "{plan:?}");
    }

    // The slots of the Manager and of the System are the same devices, and a boot does not need those of the Manager.
    bmc.only("GET", SLOT, slot(SLOT, &Value::Null));
    let survey = connected(&bmc).await.survey().await.unwrap();
    assert_eq!(survey.slots.iter().map(|slot| slot.path.as_str()).collect::<Vec<_>>(), [SLOT]);
    let busy = refusal(503, "Base.1.8.ServiceTemporarilyUnavailable", &[]).header("Retry-After", "0");
    bmc.only("GET", &manager_slots, busy);
    let survey = connected(&bmc).await.survey().await.unwrap();
    assert_eq!(Boots::plan(&survey, Medium::Cd, None).unwrap().slots[0].path, SLOT);
}
