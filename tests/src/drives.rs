//! Drives with a host's configuration, as those read them for whom they are made.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::peers::run;

/// Unpacks the files of an ISO into a directory that is not there yet, by xorriso.
pub fn unpack(iso: &Path, tree: &Path) {
    let mut xorriso = Command::new("xorriso");
    run(xorriso.args(["-osirrox", "on:auto_chmod_on", "-indev"]).arg(iso).args(["-extract", "/"]).arg(tree));
}

/// The label of a file system, by which its readers find it.
pub fn label(image: &Path) -> String {
    let label = run(Command::new("blkid").args(["-p", "-s", "LABEL", "-o", "value"]).arg(image));
    String::from_utf8_lossy(&label).trim().to_owned()
}

/// Runs Python code with cloud-init's modules; what it prints is JSON.
pub fn cloud_init(code: &str, argument: &Path) -> Value {
    let output = run(Command::new("/usr/bin/python3").args(["-c", code]).arg(argument));
    serde_json::from_slice(&output).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output)))
}

/// What cloud-init finds on an unpacked config drive.
pub fn config_drive(tree: &Path) -> Value {
    cloud_init(
        "import sys, json
from cloudinit.sources.helpers.openstack import ConfigDriveReader
found = ConfigDriveReader(sys.argv[1]).read_v2()
print(json.dumps({'metadata': found['metadata'], 'userdata': found['userdata'].decode(), 'networkdata': found['networkdata']}))",
        tree,
    )
}

/// What cloud-init finds on an unpacked seed.
pub fn seed(tree: &Path) -> Value {
    cloud_init(
        "import sys, json
from cloudinit import util
found = util.pathprefix2dict(sys.argv[1], required=['user-data', 'meta-data'], optional=['vendor-data', 'network-config'])
text = {name: found[name].decode() for name in found}
print(json.dumps({name: util.load_yaml(text[name]) for name in text} | {'text': text}))",
        tree,
    )
}
