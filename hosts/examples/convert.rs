//! Converts every host of some documents, such as a BareMetalHost with its Secret or plain NMState, to NetworkManager
//! keyfiles in a directory each, and says what is wrong with them.
//!
//!     cargo run --example convert -- hosts.yaml out/

use std::error::Error;
use std::fs;
use std::path::Path;

use hosts::{every_host, input};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [documents, output] = arguments.as_slice() else { return Err("convert DOCUMENTS DIRECTORY".into()) };
    let text = fs::read(documents)?;
    let mut converted = every_host::convert(input::read(&text));
    input::locate([input::Text { name: Some(documents), text: &text }], &mut converted.report);
    for finding in converted.report.findings() {
        eprintln!("{}: {finding} [{}]", finding.severity, finding.code);
    }
    for (number, (host, network)) in converted.hosts.iter().enumerate() {
        // There is none of a host with an error.
        let Some(network) = network else { continue };
        let name = host.hostname.as_ref().map_or_else(|| format!("host-{number}"), ToString::to_string);
        let directory = Path::new(output).join(name);
        fs::create_dir_all(&directory)?;
        for keyfile in &network.keyfiles {
            fs::write(directory.join(keyfile.name.as_str()), &keyfile.content)?;
        }
    }
    Ok(())
}
