//! Any texts as documents of both steps: no panic, and what comes out is what nmstate and Kubernetes read.
#![no_main]

use hosts::input::Text;
use hosts::second_step::{self, SecondStepText};
use libfuzzer_sys::fuzz_target;
use serde_yaml::Value;

/// The names of the files of the second step, in turn. Names decide which host bare NMState is for.
const NAMES: [&str; 4] = ["cluster.yml", "worker-0.yml", "hosts.yaml", "a.b.c.yaml"];

fuzz_target!(|data: &[u8]| {
    let Some((flags, rest)) = data.split_first() else { return };
    let mut texts = rest.split(|byte| *byte == 0);
    let first = texts.next().unwrap_or_default();
    let first =
        SecondStepText { file_name: Some("worker-0.yaml"), text: Text { name: Some("worker-0.yaml"), text: first } };
    let (mut first_step, mut report) = second_step::read_first_step([first]);
    let named = texts.zip(NAMES);
    let second: Vec<_> = named
        .map(|(text, name)| SecondStepText { file_name: Some(name), text: Text { name: Some(name), text } })
        .collect();
    let (mut documents, found) = second_step::read(second.iter().copied());
    report.append(found);
    if flags & 1 != 0 {
        let (derived, found) = second_step::derive(&mut first_step.hosts, &documents, flags & 2 != 0);
        report.append(found);
        // Somebody may write what was derived to a file, and give it to dayone again.
        for document in &derived {
            let name = document.target.file_name();
            let text = Text { name: Some(&name), text: &document.content };
            let (again, _) = second_step::read([SecondStepText { file_name: Some(&name), text }]);
            let [again] = again.as_slice() else { panic!("what was derived is {} documents", again.len()) };
            assert!(again.target == document.target && again.content == document.content);
        }
        documents.extend(derived);
    }
    report.append(second_step::check(&documents, &first_step));
    let role = "worker".parse().ok();
    let (configs, found) = second_step::machine_configs(&documents, &first_step, role.as_ref());
    report.append(found);
    for config in configs {
        let yaml: Value = serde_yaml::from_str(&config.yaml).expect("a MachineConfig is YAML");
        assert_eq!(yaml["metadata"]["name"].as_str(), Some(config.name().as_str()));
        let files = yaml["spec"]["config"]["storage"]["files"].as_sequence().expect("it has files");
        assert_eq!(files.len(), config.files.len());
        let mut paths: Vec<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
        for (path, name) in paths.iter().zip(&config.files) {
            assert!(path.ends_with(&format!("/{name}")) && !name.contains('/') && !name.contains(char::is_control));
        }
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), files.len(), "two files have one path");
    }
});
