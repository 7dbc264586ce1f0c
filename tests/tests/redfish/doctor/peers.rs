//! The real clients.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A program that reads an image from a URL.
#[derive(Debug)]
pub enum Client {
    Nbdkit,
    /// With the options of Intel's virtual-media that plain HTTP has a use for.
    NbdkitOfOpenBmc,
    Qemu,
    /// With further options.
    Curl(Vec<String>),
}

/// Whether the client gets the image to the bit.
pub fn is_read_by(client: &Client, url: &str, image: &Path) -> bool {
    let directory = tempfile::tempdir().expect("a directory");
    let copy = directory.path().join("copy");
    // Block by block, as a host does: a reader that asks for everything at once is served by any server.
    let block_by_block = "bs=65536";
    let of = format!("of={}", copy.display());
    let run = format!("qemu-img dd -f raw -O raw {block_by_block} if=\"$uri\" {of}");
    let remote = format!("if=driver=raw,file.driver=http,file.url={url}");
    let mut command = Command::new("timeout");
    command.arg("60");
    match client {
        Client::Nbdkit => command.args(["nbdkit", "-U", "-", "-r", "curl", url, "--run", &run]),
        Client::NbdkitOfOpenBmc => {
            command.args(["nbdkit", "-U", "-", "-r", "curl", url, "followlocation=false", "--run", &run])
        }
        Client::Qemu => command.args(["qemu-img", "dd", "--image-opts", "-O", "raw", block_by_block, &remote, &of]),
        Client::Curl(options) => command.args(["curl", "-sS", "--fail", "-o"]).arg(&copy).args(options).arg(url),
    };
    let output = command.output().expect("the client starts; see scripts/setup-peers.sh");
    output.status.success() && fs::read(&copy).ok() == fs::read(image).ok()
}
