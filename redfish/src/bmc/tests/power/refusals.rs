//! A BMC that refuses what it lists, or lists too little.

use super::*;

#[tokio::test]
async fn a_refused_power_action_changes_nothing() {
    let (machine, bmc) = bmc().await;
    let none = Duration::ZERO;
    for (types, refuses, action, switched, ok) in [
        // The BMC that made an off of a power cycle.
        (vec!["On", "PowerCycle"], vec![], PowerAction::Off { graceful: none }, vec![], false),
        (vec![], vec!["ForceOff"], PowerAction::Off { graceful: none }, vec![], false),
        (vec![], vec!["ForceOff"], PowerAction::Cycle { graceful: none }, vec![false, true], true),
        (vec![], vec!["ForceOff", "PowerCycle"], PowerAction::Cycle { graceful: none }, vec![], false),
    ] {
        *machine.lock().unwrap() = Machine { types, refuses, is_on: true, ..Machine::default() };
        let result = bmc.power(action).await;
        let machine = machine.lock().unwrap();
        assert_eq!((&machine.switched, result.is_ok()), (&switched, ok), "{:?}: {result:?}", machine.sent);
    }
}

#[tokio::test]
async fn a_busy_bmc_is_not_one_that_refuses_a_reset_type() {
    let (machine, bmc) = bmc().await;
    let types = vec!["On", "ForceOff", "PowerCycle"];
    *machine.lock().unwrap() = Machine { types, busy: 3, is_on: true, ..Machine::default() };
    let cycle = PowerAction::Cycle { graceful: Duration::ZERO };
    let error = bmc.power(cycle).await.unwrap_err();
    assert!(matches!(error, BmcError::PowerRefused { .. }) && error.is_unavailable(), "{error}");
    bmc.power(cycle).await.unwrap();
    assert_eq!(machine.lock().unwrap().sent, ["ForceOff", "On"]);
    // A type that it refuses for good is another matter.
    let refuses = vec!["ForceOff"];
    *machine.lock().unwrap() = Machine { refuses, is_on: true, ..Machine::default() };
    let error = bmc.power(PowerAction::Off { graceful: Duration::ZERO }).await.unwrap_err();
    assert!(!error.is_unavailable() && !error.is_transient(), "{error}");
}

#[tokio::test]
async fn the_error_names_only_the_requests_for_what_failed() {
    let (machine, bmc) = bmc().await;
    for (types, refuses, graceful, named) in [
        // The BMC switches the host off, and not on.
        (vec!["On", "ForceOff"], vec!["On"], Duration::ZERO, 1),
        // The host ignores the accepted request to shut down.
        (vec!["On", "ForceOff", "GracefulShutdown"], vec!["ForceOff"], Duration::from_millis(20), 1),
        // A power cycle is the second way to restart the host.
        (
            vec!["On", "ForceOff", "GracefulShutdown", "PowerCycle"],
            vec!["ForceOff", "PowerCycle"],
            Duration::from_millis(20),
            2,
        ),
    ] {
        *machine.lock().unwrap() = Machine { types, refuses, is_on: true, is_deaf: true, ..Machine::default() };
        let error = bmc.power(PowerAction::Cycle { graceful }).await.unwrap_err();
        assert!(matches!(error, BmcError::PowerRefused { .. }), "{error}");
        assert!(error.attempts().iter().all(|attempt| attempt.status == Some(400)), "{error}");
        assert_eq!(error.attempts().len(), named, "{error}");
    }
}

#[tokio::test]
async fn a_refused_shutdown_is_not_one_that_takes_too_long() {
    let types = vec!["On", "ForceOff", "GracefulShutdown"];
    let off = PowerAction::Off { graceful: Duration::from_millis(20) };
    for (refuses, is_deaf, graceful, shutdown_refused) in
        [(vec!["GracefulShutdown"], false, None, true), (vec![], true, Some(false), false)]
    {
        let (machine, bmc) = bmc().await;
        *machine.lock().unwrap() =
            Machine { types: types.clone(), refuses, is_on: true, is_deaf, ..Machine::default() };
        let change = bmc.power(off).await.unwrap();
        assert_eq!((change.graceful, change.shutdown_refused), (graceful, shutdown_refused), "{change:?}");
        assert_eq!(machine.lock().unwrap().sent, ["GracefulShutdown", "ForceOff"]);
    }
}

#[tokio::test]
async fn the_error_names_the_time_to_shut_down_if_that_would_help() {
    let (machine, bmc) = bmc().await;
    for (types, helps) in [
        (vec!["On", "GracefulShutdown", "GracefulRestart"], true),
        (vec!["GracefulShutdown", "GracefulRestart"], false),
        (vec!["On", "GracefulRestart"], false),
    ] {
        *machine.lock().unwrap() = Machine { types, is_on: true, ..Machine::default() };
        let error = bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.unwrap_err().to_string();
        assert_eq!(error.contains("shutdown_within"), helps, "{error}");
        let graceful = Duration::from_millis(20);
        assert_eq!(bmc.power(PowerAction::Cycle { graceful }).await.is_ok(), helps);
    }
}

#[tokio::test]
async fn a_host_is_switched_on_with_a_type_that_the_bmc_lists_while_it_is_off() {
    let (machine, bmc) = bmc().await;
    // The lists of an iRMC S4. The button is refused while the host is off.
    let types = vec!["ForceOff", "ForceRestart", "Nmi", "PushPowerButton"];
    for (graceful, off) in [(Duration::ZERO, "ForceOff"), (Duration::from_secs(10), "PushPowerButton")] {
        let (types, types_off) = (types.clone(), vec!["On"]);
        *machine.lock().unwrap() = Machine { types, types_off, is_on: true, ..Machine::default() };
        let change = bmc.power(PowerAction::Cycle { graceful }).await.unwrap();
        let machine = machine.lock().unwrap();
        assert_eq!((change.after, &machine.switched), (PowerState::On, &vec![false, true]), "{change:?}");
        assert_eq!(machine.sent, [off, "On"], "{change:?}");
    }
    // A list without a type that switches the host on is not a reason to leave it off.
    let (types, types_off) = (vec!["On", "ForceOff"], vec!["Nmi"]);
    *machine.lock().unwrap() = Machine { types, types_off, is_on: true, ..Machine::default() };
    bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.unwrap_err();
    assert_eq!(machine.lock().unwrap().sent, ["ForceOff", "On"]);
}
