//! Listening on all addresses where the kernel keeps IPv4 and IPv6 apart.

use std::path::PathBuf;
use std::process::Command;

use acceptance::peers::run_text;
use acceptance::server::dayone;

/// In a network of its own with `net.ipv6.bindv6only`: the statuses of the media plane.
const SCRIPT: &str = r#"
ip link set lo up
echo 1 > /proc/sys/net/ipv6/bindv6only
set -- "$1" "$2" --data-dir "$2/data" --api-listen 127.0.0.1:8080 --media-url http://127.0.0.1:8081
"$1" serve --config= "${@:3}" < /dev/null > "$2/log" 2>&1 &
for _ in {1..300}; do
    curl --silent --fail --max-time 5 --output /dev/null http://127.0.0.1:8080/readyz && break
    sleep 0.1
done
for host in 127.0.0.1 '[::1]'; do
    curl --silent --max-time 5 --output /dev/null --write-out '%{http_code}\n' "http://$host:8081/"
done
kill $!
wait
"#;

#[test]
fn the_default_address_accepts_ipv4_whatever_the_kernel_is_set_to() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60", "unshare", "--map-root-user", "--net", "bash", "-c", SCRIPT, "bash"]);
    command.arg(PathBuf::from(dayone().get_program())).arg(directory.path());
    assert_eq!(run_text(&mut command), "404\n404\n");
}
