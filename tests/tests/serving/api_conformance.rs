//! The API does what its description says: schemathesis makes requests of the description and holds the answers against it.

use std::fs;
use std::process::Command;

use acceptance::bases::{coreos_iso, debian_live_iso, fixtures, networkmanager_ramdisk};
use acceptance::peers::{peer, run};
use acceptance::server::dayone;

/// Requests for each operation and phase. The seed is fixed, so that two runs make the same ones.
const EXAMPLES: &str = "10";
const SEED: &str = "1";

/// The longest that all phases may take together, in seconds; some ninety are usual.
const MAX_SECONDS: &str = "420";

/// What is not checked everywhere, and why.
const CONFIGURATION: &str = r#"
# 503 is what the description promises where a base is not there, and one is not. That it is described wherever it occurs,
# status_code_conformance checks.
[checks.not_a_server_error]
expected-statuses = ["1xx", "2xx", "3xx", "4xx", "503"]

# The stream of all boots ends with the server, and a request of it only when it takes too long.
[[operations]]
include-path = "/v1/boots/events"
enabled = false

# No schema can say that a text is NMState, that a base of this name is there, or that two parameters exclude each other:
# what fits the schema of a document or an order may be refused for what it says.
[[operations]]
include-method = "POST"
[operations.checks]
positive_data_acceptance.enabled = false
"#;

/// Documents are texts in the description, and it makes texts of letters: here they are YAML, of objects that are like documents
/// now and then.
const HOOKS: &str = r#"
import schemathesis
import yaml
from hypothesis import strategies as st

INTERFACE = st.fixed_dictionaries(
    {"name": st.sampled_from(["eth0", "bond0", ""]), "type": st.sampled_from(["ethernet", "bond", "vlan", "x"])},
    optional={"state": st.sampled_from(["up", "down", 7]), "mtu": st.integers(), "ipv4": st.none() | st.dictionaries(
        st.sampled_from(["enabled", "dhcp", "address"]), st.booleans() | st.lists(st.text(max_size=20), max_size=2))},
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
DOCUMENT = st.fixed_dictionaries({"interfaces": st.lists(INTERFACE, max_size=3)}) | st.dictionaries(st.text(max_size=10), VALUE)

schemathesis.openapi.format("binary", st.lists(DOCUMENT, min_size=1, max_size=2).map(yaml.safe_dump_all))


@schemathesis.serializer("application/yaml")
def as_it_is(context, value):
    return {"data": value if isinstance(value, (str, bytes)) else yaml.safe_dump(value)}
"#;

const TOKEN: &str = "a-token-for-schemathesis";

/// In a network of its own, where nobody is: the requests have made-up addresses of BMCs.
const SCRIPT: &str = r#"
set -eu
ip link set lo up
api=127.0.0.1:18080
cd "$1"
"$2" serve --config settings.yaml < /dev/null > log 2>&1 &
server=$!
auth="Authorization: Bearer $(cat tokens)"
for _ in $(seq 300); do
  curl -fs "http://$api/readyz" > /dev/null && break
  kill -0 "$server" && sleep 0.2
done
# Bases that were there at the start and are no more have a schema, too.
rm gone.iso
for _ in $(seq 100); do
  curl -s "http://$api/readyz" | grep -q "'gone' is not available" && break
  sleep 0.2
done
post() { curl -fs -H "$auth" -H 'Content-Type: application/yaml' --data-binary @"$1" "http://$api/v1/$2" > "$3"; }
post host.yaml 'images?base=coreos' image.json
post host.yaml 'images?format=data&data=combustion' data.json
# A boot that waits for a BMC which does not answer.
post host.yaml 'boots?base=coreos&bmc_address=redfish-virtualmedia%2Bhttp://127.0.0.1:1/redfish/v1/Systems/1' boot.json
printf '\n[[operations]]\ninclude-name = "GET /v1/boots/{id}"\nparameters = { id = "%s" }\n' "$(jq -r '.boots[0].id' boot.json)" \
  >> schemathesis.toml
shift 2
"$@" --url "http://$api" -H "$auth" "http://$api/v1/openapi.json" < /dev/null
kill -0 "$server"
"#;

#[test]
fn requests_made_of_the_description_are_answered_as_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::copy(coreos_iso(&[]), path("gone.iso")).unwrap();
    let live = debian_live_iso();
    let (kernel, initrd) = (path("kernel"), networkmanager_ramdisk());
    fs::write(&kernel, "a kernel").unwrap();
    let plain = fs::File::create(path("plain.iso")).unwrap();
    run(Command::new("xz").args(["-dc"]).arg(fixtures("bases/tree.iso.xz")).stdout(plain));
    let settings = format!(
        "data-dir: data\napi-listen: 127.0.0.1:18080\nmedia-listen: 127.0.0.1:18081\nmedia-url: http://127.0.0.1:18081\n\
         api-token-file: [tokens]\nbmc-network: [127.0.0.0/8]\nbases:\n- {{name: coreos, iso: {}}}\n- {{name: live, iso: {}}}\n\
         - {{name: ramdisk, kernel: {}, initrd: {}}}\n- {{name: plain, iso: plain.iso}}\n\
         - {{name: gone, iso: gone.iso}}\n",
        coreos_iso(&[]).display(),
        live.display(),
        kernel.display(),
        initrd.display(),
    );
    fs::write(path("settings.yaml"), settings).unwrap();
    fs::write(
        path("host.yaml"),
        "interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]\n",
    )
    .unwrap();
    fs::write(path("tokens"), format!("{TOKEN}\n")).unwrap();
    run(Command::new("chmod").arg("600").arg(path("tokens")));

    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", MAX_SECONDS, "unshare"]);
    command.args(["--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", SCRIPT, "sh"]);
    command.arg(directory.path()).arg(dayone().get_program()).arg(peer("st").get_program());
    command.args(["--config-file", "schemathesis.toml", "run"]);
    fs::write(path("schemathesis.toml"), CONFIGURATION).unwrap();
    fs::write(path("hooks.py"), HOOKS).unwrap();
    command.env("SCHEMATHESIS_HOOKS", "hooks.py");
    // All checks are made that the configuration does not switch off.
    command.args(["--phases", "examples,coverage,fuzzing,stateful"]);
    command.args(["--max-examples", EXAMPLES, "--seed", SEED, "--request-timeout", "30"]);
    command.args(["--continue-on-failure", "--no-color"]).env("HOME", directory.path());
    let output = command.output().unwrap();
    let (out, log) = (String::from_utf8_lossy(&output.stdout), fs::read_to_string(path("log")).unwrap_or_default());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}\n{errors}\n{}", log.lines().rev().take(40).collect::<Vec<_>>().join("\n"));
    assert!(!log.contains("panicked"), "{log}");
    // All phases took place.
    for phase in ["Coverage", "Fuzzing", "Stateful"] {
        assert!(out.contains(phase), "no {phase} in\n{out}");
    }
}
