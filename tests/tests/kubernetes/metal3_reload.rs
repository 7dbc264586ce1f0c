//! The settings file of `dayone controller`, and what SIGHUP does with it.

use std::fs;
use std::process::Command;

use acceptance::kubernetes::ApiServer;
use acceptance::metal3::Site;
use acceptance::peers::run;

#[test]
fn a_controller_takes_over_its_changed_file_or_nothing_and_goes_on() {
    let site = Site::new(ApiServer::shared());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("controller.yaml");
    // An option overrides the file: the test's own address stays.
    fs::write(&file, "concurrency: 4\nimages-bind-addr: 192.0.2.1:80\n").unwrap();
    let settings = site.settings("dayone").with_variable("DAYONE_CONFIG", file.display().to_string());
    let replica = settings.start_ready("dayone-0");
    let hang_up = || run(Command::new("kill").args(["-HUP", &replica.id().to_string()]));

    fs::write(&file, "concurrency: 5\nlog: debug\nimages-connections-per-address: 7\n").unwrap();
    hang_up();
    replica.wait_for_log(&["were read again", "log", "images-connections-per-address"]);
    replica.wait_for_log(&["need a restart", "concurrency"]);
    replica.wait_for_log(&["\"level\":\"DEBUG\""]);

    fs::write(&file, "images-publish-adr: http://192.0.2.1\n").unwrap();
    hang_up();
    replica.wait_for_log(&["all old ones stay in use", "controller.yaml:1:1", "did you mean images-publish-addr?"]);
    assert!(replica.is_ready(), "{}", replica.log());
}
