//! Turns `src/report/catalogue/*.yaml` into one sorted slice of `Explanation`s. A broken catalogue fails the build.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;

const CATALOGUE: &str = "src/report/catalogue";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    title: String,
    effect: String,
    fix: String,
    example: Option<String>,
    /// The fix in the words of formats whose keys are not NMState's.
    #[serde(default, rename = "fix-in")]
    fix_in: FixIn,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FixIn {
    netplan: Option<String>,
    cloud_init_v1: Option<String>,
    network_data: Option<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={CATALOGUE}");
    let mut all = BTreeMap::new();
    for file in fs::read_dir(CATALOGUE)? {
        let path = file?.path();
        let entries: BTreeMap<String, Entry> = serde_yaml::from_str(&fs::read_to_string(&path)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        for (code, entry) in entries {
            if all.insert(code.clone(), entry).is_some() {
                return Err(format!("{}: another file explains {code} as well", path.display()).into());
            }
        }
    }
    let mut source = String::from("&[\n");
    let mut fixes = String::from("&[\n");
    for (code, Entry { title, effect, fix, example, fix_in }) in &all {
        // The Debug output of a string or an `Option` of one is valid Rust source.
        writeln!(
            source,
            "Explanation {{ code: {code:?}, title: {title:?}, effect: {effect:?}, fix: {fix:?}, example: {example:?} }},"
        )?;
        let FixIn { netplan, cloud_init_v1, network_data } = fix_in;
        for (format, fix) in [("Netplan", netplan), ("CloudInitV1", cloud_init_v1), ("NetworkData", network_data)] {
            if let Some(fix) = fix {
                writeln!(fixes, "({code:?}, NetworkFormat::{format}, {fix:?}),")?;
            }
        }
    }
    source.push(']');
    fixes.push(']');
    let target = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    fs::write(Path::new(&target).join("explanations.rs"), source)?;
    fs::write(Path::new(&target).join("fixes.rs"), fixes)?;
    Ok(())
}
