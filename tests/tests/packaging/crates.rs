//! What the packages of the libraries have, for those who get a library without the repository.

use std::fs;
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::peers::run_text;

#[test]
fn the_package_of_a_library_has_the_licence_and_a_readme_with_what_it_names() {
    for library in ["imagelib", "redfish", "vocabulary"] {
        let directory = fixtures("..").join(library);
        let mut command = Command::new("cargo");
        command.args(["package", "--list", "--allow-dirty", "--offline", "--locked"]).current_dir(&directory);
        let packed = run_text(&mut command);
        let has = |name: &str| packed.lines().any(|line| line == name);
        assert!(has("LICENSE") && has("README.md"), "{library}: {packed}");
        let licences = [directory.join("LICENSE"), fixtures("../LICENSE")].map(|path| fs::read(path).unwrap());
        assert_eq!(licences[0], licences[1], "{library}");
        let texts = ["README.md", "src/lib.rs"].map(|name| fs::read_to_string(directory.join(name)).unwrap());
        for named in texts.iter().flat_map(|text| text.split('`')).filter(|word| word.starts_with("examples/")) {
            assert!(has(named), "{library}: {named} is not in {packed}");
        }
    }
}
