//! Clients that do everything that changes the data directory of a server.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::nginx::Nginx;
use acceptance::server::free_address;
use imagelib::cpio::Archive;
use imagelib::digest::Digest;
use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::history::{History, Subject, Wanted, now};
use super::life::Life;
use super::trace::Trace;

/// What was recorded: what the server did, and what clients were told.
pub(crate) struct Recording {
    pub(crate) root: PathBuf,
    pub(crate) base: String,
    pub(crate) media_url: String,
    pub(crate) history: History,
    pub(crate) trace: Trace,
    /// The file with all keys of the data directory, if it was ever encrypted.
    pub(crate) keys: Option<PathBuf>,
    /// Keeps the files that the records name.
    pub(crate) _place: TempDir,
}

pub(crate) struct Site {
    pub(crate) place: TempDir,
    pub(crate) api: String,
    pub(crate) media: String,
    pub(crate) base: String,
    pub(crate) nginx: Nginx,
    history: History,
    client: Client,
}

/// What a server does with the files of its data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    Never,
    /// From the second of four lives on, with another key in the third, and not any more in the fourth.
    Changes,
}

/// Records two lives of a server, the first of which ends while it fetches a base, and with [`Encryption::Changes`] two more, in which
/// it only brings its files into another form.
pub(crate) fn record(encryption: Encryption) -> Recording {
    let place = tempfile::tempdir().unwrap();
    for directory in ["disk", "sources"] {
        fs::create_dir(place.path().join(directory)).unwrap();
    }
    let mut archive = Archive::new();
    archive.file("etc/coreos-live-initramfs".parse().unwrap(), 0o644, Vec::new()).unwrap();
    archive.add_parents(0o755).unwrap();
    fs::write(place.path().join("initrd"), archive.to_bytes()).unwrap();
    fs::write(place.path().join("kernel"), b"the kernel".repeat(1000)).unwrap();
    let base = format!("pxe=kernel:{0}/kernel,initrd:{0}/initrd", place.path().display());
    // Only a base that has settled has its digest kept.
    thread::sleep(Duration::from_millis(2100));
    let nginx = Nginx::start(None);
    let client = Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    let (api, media) = (free_address(), free_address());
    let mut site = Site { place, api, media, base, nginx, history: History::default(), client };
    let root = site.place.path().join("disk");

    let (one, two) = ("1".repeat(64), "2".repeat(64));
    let keys = |number: usize, lines: &[&str]| {
        (encryption == Encryption::Changes).then(|| {
            let path = site.place.path().join(format!("keys-{number}"));
            fs::write(&path, lines.join("\n")).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            path
        })
    };
    let later = [keys(1, &[&one]), keys(2, &[&two, &one]), keys(3, &["none", &two])];
    let all = keys(4, &["none", &one, &two]);

    let life = Life::begin(&site, 0, None);
    first_life(&site);
    // Slowly enough to be killed in the middle.
    site.nginx.kill();
    site.nginx.start_again("limit_rate 300k;");
    site.begin_base("third", "a.iso", site.nginx.url("a.iso"));
    thread::sleep(Duration::from_millis(1000));
    let mut trace = Trace::default();
    life.end(&root, &mut trace);
    site.nginx.kill();
    site.nginx.start_again("");
    let life = Life::begin(&site, 1, later[0].as_deref());
    second_life(&site);
    life.end(&root, &mut trace);
    if encryption == Encryption::Changes {
        for (number, keys) in [2, 3].into_iter().zip(&later[1..]) {
            let life = Life::begin(&site, number, keys.as_deref());
            life.end(&root, &mut trace);
        }
    }
    let media_url = format!("http://{}", site.media);
    Recording { root, base: site.base, media_url, history: site.history, trace, keys: all, _place: site.place }
}

fn first_life(site: &Site) {
    let (a, b) = (coreos_iso(&[]), coreos_iso(&["--no-features"]));
    fs::copy(&a, site.nginx.root().join("a.iso")).unwrap();
    fs::copy(&a, site.place.path().join("sources/a.iso")).unwrap();
    fs::copy(b, site.place.path().join("sources/b.iso")).unwrap();
    let images: Vec<_> = (1..=3).map(|host| site.publish("base=pxe&format=initrd", host)).collect();
    site.publish_all();
    site.delete(&images[1]);
    // A base from a web server, which one from a path replaces. Images of both exist.
    site.begin_base("added", "a.iso", site.nginx.url("a.iso"));
    site.await_base("added", "a.iso");
    let over_first = site.publish("base=added&format=iso", 4);
    let path = site.place.path().join("sources/b.iso").display().to_string();
    site.begin_base("added", "b.iso", path);
    site.await_base("added", "b.iso");
    site.publish("base=added&format=iso", 4);
    // With its last image, the replaced base goes.
    site.delete(&over_first);
    // One that nothing uses comes and goes.
    let path = site.place.path().join("sources/a.iso").display().to_string();
    site.begin_base("second", "a.iso", path);
    site.await_base("second", "a.iso");
    site.remove_base("second");
    site.boot();
    thread::scope(|scope| {
        for thread in 0..3 {
            scope.spawn(move || {
                for round in 0..3 {
                    let image = site.publish("format=data&data=cidata", 20 + thread * 10 + round);
                    if round % 2 == 0 {
                        site.delete(&image);
                    }
                }
            });
        }
    });
}

fn second_life(site: &Site) {
    site.await_base("third", "a.iso");
    let image = site.publish("base=third&format=iso", 5);
    site.publish("format=data&data=cidata", 6);
    site.delete(&image);
    site.remove_base("third");
    site.boot();
}

/// A published image.
struct Image {
    id: String,
    token: String,
}

impl Site {
    pub(crate) fn data(&self) -> PathBuf {
        self.place.path().join("disk/data")
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.api)
    }

    fn publish(&self, query: &str, host: usize) -> Image {
        let asked = now();
        let request = self.client.post(self.url(&format!("/v1/images?{query}")));
        let answer = request.header("content-type", "application/yaml").body(document(host)).send().unwrap();
        self.published(asked, &success(answer))
    }

    /// Images of three hosts in one request, whose records are written together.
    fn publish_all(&self) {
        let hosts: Vec<String> = (7..10)
            .map(|host| {
                format!(
                    "apiVersion: v1\nkind: Secret\nmetadata: {{name: network-{host}}}\nstringData:\n  nmstate: |\n    {}\n---\n\
                     apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: host-{host}}}\nspec: \
                     {{preprovisioningNetworkDataName: network-{host}}}\n",
                    document(host)
                )
            })
            .collect();
        let asked = now();
        let request = self.client.post(self.url("/v1/images?hosts=all&base=pxe&format=initrd"));
        let answer = request.header("content-type", "application/yaml").body(hosts.join("---\n")).send().unwrap();
        let answer = success(answer);
        let hosts = answer["hosts"].as_array().unwrap();
        assert_eq!(hosts.len(), 3, "{answer}");
        for host in hosts {
            self.published(asked, &host["image"]);
        }
    }

    fn published(&self, asked: f64, image: &Value) -> Image {
        let acknowledged = now();
        let url = image["url"].as_str().unwrap_or_else(|| panic!("{image}"));
        let parts: Vec<&str> = url.rsplitn(3, '/').collect();
        let (file, token) = (parts[0].to_owned(), parts[1].to_owned());
        let bytes = self.client.get(url).send().unwrap().error_for_status().unwrap().bytes().unwrap().to_vec();
        let wanted = Wanted::Image { files: vec![(file, bytes)] };
        self.history.acknowledged_at(asked, acknowledged, Subject::Image(token.clone()), wanted);
        Image { id: image["id"].as_str().unwrap().to_owned(), token }
    }

    fn delete(&self, image: &Image) {
        let asked = now();
        let answer = self.client.delete(self.url(&format!("/v1/images/{}", image.id))).send().unwrap();
        assert_eq!(answer.status(), 204);
        self.history.acknowledged(asked, Subject::Image(image.token.clone()), Wanted::Absent);
    }

    fn digest(&self, file: &str) -> Digest {
        let places = [self.nginx.root(), self.place.path().join("sources")];
        let path = places.iter().map(|place| place.join(file)).find(|path| path.exists()).unwrap();
        Digest::of(&fs::read(path).unwrap())
    }

    fn begin_base(&self, name: &str, file: &str, location: String) {
        let asked = now();
        let digest = self.digest(file);
        let kind = if location.starts_with('/') { "path" } else { "url" };
        // From here on, it may arrive at any moment.
        self.history.asked(Subject::Base(name.to_owned()), Wanted::Base(digest));
        let body = json!({"name": name, "iso": {kind: location, "sha256": digest.to_string()}});
        success(self.client.post(self.url("/v1/bases")).json(&body).send().unwrap());
        self.history.acknowledged(asked, Subject::BaseRequest(name.to_owned()), Wanted::Present);
    }

    fn await_base(&self, name: &str, file: &str) {
        let begun = Instant::now();
        loop {
            let base: Value = self.client.get(self.url(&format!("/v1/bases/{name}"))).send().unwrap().json().unwrap();
            if base["state"] == "available" && base["fetch"].is_null() {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{base}");
            thread::sleep(Duration::from_millis(50));
        }
        self.history.acknowledged(now(), Subject::Base(name.to_owned()), Wanted::Base(self.digest(file)));
    }

    fn remove_base(&self, name: &str) {
        let asked = now();
        let answer = self.client.delete(self.url(&format!("/v1/bases/{name}"))).send().unwrap();
        assert_eq!(answer.status(), 204);
        for subject in [Subject::Base(name.to_owned()), Subject::BaseRequest(name.to_owned())] {
            self.history.acknowledged(asked, subject, Wanted::Absent);
        }
    }

    /// A boot whose BMC does not answer, until its record is deleted.
    fn boot(&self) {
        let asked = now();
        let bmc = json!({"address": "redfish+http://127.0.0.1:1/redfish/v1/Systems/1"});
        let body = json!({"base": "added", "documents": document(11), "bmc": bmc});
        let answer = success(self.client.post(self.url("/v1/boots")).json(&body).send().unwrap());
        let id = answer["boots"][0]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        self.history.acknowledged(asked, Subject::Boot(id.clone()), Wanted::Present);
        let begun = Instant::now();
        loop {
            let boot: Value = self.client.get(self.url(&format!("/v1/boots/{id}"))).send().unwrap().json().unwrap();
            if begun.elapsed() > Duration::from_secs(3) || !boot["ended"].is_null() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        // The first request ends the boot, if it runs; the other one does not wait until the BMC answers.
        self.history.asked(Subject::Boot(id.clone()), Wanted::Absent);
        for (query, statuses) in [("", [202, 204].as_slice()), ("?forget=true", &[204, 404])] {
            let answer = self.client.delete(self.url(&format!("/v1/boots/{id}{query}"))).send().unwrap();
            assert!(statuses.contains(&answer.status().as_u16()), "{query}: {}", answer.text().unwrap());
        }
        self.history.acknowledged(now(), Subject::Boot(id), Wanted::Absent);
    }
}

fn document(host: usize) -> String {
    format!(
        "interfaces: [{{name: eth0, type: ethernet, state: up, ipv4: {{enabled: true, dhcp: false, address: [{{ip: 192.0.2.{host}, prefix-length: 24}}]}}}}]"
    )
}

fn success(answer: Response) -> Value {
    let status = answer.status();
    let text = answer.text().unwrap();
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).unwrap()
}
