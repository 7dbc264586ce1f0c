//! What happens to the server while it serves: one fault after the other, in an order that the seed repeats.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::api;
use super::orders::{Image, Order, Phase};
use super::process::until;
use super::publishers;
use super::random::Random;
use super::readers::probe;
use super::restart;
use super::site::{Site, write_secret};
use super::world::World;

/// How long the server may take until it is as before.
const RECOVERY: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Kill,
    FullDisk,
    NoFiles,
    Clock,
    Base(BaseFault),
    Certificate,
    Token,
}

/// What happens to the file of a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BaseFault {
    /// Some bytes are written in place.
    Changed,
    /// It is shorter.
    Truncated,
    /// Another file is in its place.
    Replaced,
    /// No file is in its place.
    Removed,
    /// Only its times are others.
    Touched,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill -9 and restart",
            Self::FullDisk => "full disk",
            Self::NoFiles => "no file descriptors",
            Self::Clock => "jump of the clock",
            Self::Base(BaseFault::Changed) => "base changed in place",
            Self::Base(BaseFault::Truncated) => "base truncated",
            Self::Base(BaseFault::Replaced) => "base replaced",
            Self::Base(BaseFault::Removed) => "base removed",
            Self::Base(BaseFault::Touched) => "base touched",
            Self::Certificate => "certificate renewed",
            Self::Token => "token changed",
        }
    }
}

/// Does one fault after the other until the run ends. In the last 40 % of the run, the process lives: memory that only grows is seen
/// only in one that does.
pub(crate) fn run(world: &World) {
    let mut random = world.random("faults");
    let mut deck = Vec::new();
    while !world.is_over() {
        if deck.is_empty() {
            deck = all(world);
            random.shuffle(&mut deck);
        }
        world.pause(Duration::from_millis(1000 + random.below(2500)));
        let Some(fault) = deck.pop() else { continue };
        let is_late = world.begun.elapsed() > world.length.mul_f64(0.6);
        if world.is_over() || (is_late && fault == Fault::Kill) {
            continue;
        }
        if std::env::var_os("SOAK_VERBOSE").is_some() {
            eprintln!("{} {:.1} s: {}", world.name, world.begun.elapsed().as_secs_f64(), fault.name());
        }
        match fault {
            Fault::Kill => restart::kill_and_start_again(world, &mut random),
            Fault::FullDisk => full_disk(world, &mut random),
            Fault::NoFiles => no_files(world, &mut random),
            Fault::Clock => world.process.set_clock(clock(&mut random)),
            Fault::Base(fault) => base(world, fault, &mut random),
            Fault::Certificate => certificate(world),
            Fault::Token => token(world, &mut random),
        }
        *world.faults.lock().unwrap().entry(fault.name()).or_default() += 1;
    }
}

fn all(world: &World) -> Vec<Fault> {
    use BaseFault::{Changed, Removed, Replaced, Touched, Truncated};
    let mut all =
        vec![Fault::Kill, Fault::Kill, Fault::FullDisk, Fault::NoFiles, Fault::Clock, Fault::Clock, Fault::Token];
    all.extend([Changed, Truncated, Replaced, Removed, Touched].map(Fault::Base));
    if world.site.authority.is_some() {
        all.push(Fault::Certificate);
    }
    all
}

/// A few seconds, some hours, or ten years, before or after the time of the machine.
fn clock(random: &mut Random) -> i64 {
    let most = random.pick(&[5, 7200, 86_400 * 3650]).copied().unwrap_or(5);
    i64::try_from(random.below(2 * most)).unwrap() - i64::try_from(most).unwrap()
}

fn recovers(world: &World, what: &str) {
    if !until(RECOVERY, || world.failure().is_some() || api::is_ready(world)) {
        let answer = api::get(world, "/readyz", "");
        world.fail(&format!("not ready after {what}: {answer:?}\n{}", world.process.log()));
    }
}

fn full_disk(world: &World, random: &mut Random) {
    world.disk.open();
    world.process.fill_disk();
    world.pause(Duration::from_millis(1000 + random.below(2000)));
    world.process.empty_disk();
    recovers(world, "a full disk");
    world.disk.close();
}

fn no_files(world: &World, random: &mut Random) {
    world.windows.down.open();
    let few = world.process.open_files() + random.below(4);
    let before = world.process.limit_files(Some(few));
    world.pause(Duration::from_millis(800 + random.below(1500)));
    world.process.limit_files(before);
    recovers(world, "a lack of file descriptors");
    serves_all(world, "a lack of file descriptors", |_| true);
    world.windows.down.close();
}

fn base(world: &World, fault: BaseFault, random: &mut Random) {
    let number = usize::try_from(random.below(2)).unwrap();
    let (name, files) = Site::configured(number);
    let Some(file) = random.pick(files) else { return };
    let (path, original) = (world.site.path("bases").join(file), world.site.path("originals").join(file));
    let nobody_orders = world.bases[number].write().unwrap();
    world.windows.bases[number].open();
    spoil(fault, &path, random);
    if fault != BaseFault::Touched {
        let is_over = |image: &&Image| image.configured == Some(number) && image.state().phase == Phase::Published;
        for image in images(world).filter(is_over).take(3) {
            let mut last = None;
            // For a moment, the server may still serve the bytes of the file that it has open.
            let is_refused = until(Duration::from_secs(3), || {
                last = probe(world, image).ok();
                matches!(last, Some(503 | 404))
            });
            if !is_refused {
                world.fail(&format!("{fault:?} {}: {} answers {last:?}", path.display(), image.title));
            }
        }
    }
    world.pause(Duration::from_millis(500 + random.below(1500)));
    if random.percent(50) {
        // In place.
        fs::write(&path, fs::read(&original).unwrap()).unwrap();
    } else {
        let new = path.with_extension("new");
        fs::copy(&original, &new).unwrap();
        fs::rename(new, &path).unwrap();
    }
    let token = world.token.read().unwrap();
    let over_it = |order: &&Order| order.images.iter().any(|image| image.configured == Some(number));
    let Some(order) = world.site.orders.iter().find(over_it) else { return };
    // The server notices a change when it looks, and until then shows the base as it was.
    world.pause(Duration::from_millis(1500));
    let identity = world.site.identity(number).to_string();
    let is_back = || {
        let shown = api::get(world, &format!("/v1/bases/{name}"), &token);
        shown.is_ok_and(|(_, base)| base["state"] == "available" && base["identity"] == identity.as_str())
    };
    if !until(RECOVERY, || world.failure().is_some() || is_back()) {
        let base = api::get(world, &format!("/v1/bases/{name}"), &token);
        world.fail(&format!("{name} does not come back: {base:?}\n{}", world.process.log()));
    }
    drop(token);
    // Only an order that is not published yet looks at all files of its base.
    for image in order.images.iter().filter(|image| image.state().phase == Phase::Published) {
        publishers::delete_alone(world, order, image);
    }
    if !publishers::publish_patiently(world, order, RECOVERY) {
        world.fail(&format!("no image can be published over {name}\n{}", world.process.log()));
    }
    serves_all(world, "a base came back", |image| image.configured == Some(number));
    world.windows.bases[number].close();
    drop(nobody_orders);
}

fn spoil(fault: BaseFault, path: &Path, random: &mut Random) {
    let open = || File::options().write(true).open(path).unwrap();
    match fault {
        BaseFault::Changed => {
            let mut noise = [0; 4096];
            random.fill(&mut noise);
            let file = open();
            let size = file.metadata().unwrap().len();
            file.write_all_at(&noise, random.below(size.saturating_sub(4096).max(1))).unwrap();
        }
        BaseFault::Truncated => open().set_len(random.below(1000)).unwrap(),
        BaseFault::Replaced => {
            let new: PathBuf = path.with_extension("other");
            fs::write(&new, [b"another file ".repeat(1000), random.next().to_le_bytes().to_vec()].concat()).unwrap();
            fs::rename(new, path).unwrap();
        }
        BaseFault::Removed => fs::remove_file(path).unwrap(),
        BaseFault::Touched => open().set_modified(SystemTime::now()).unwrap(),
    }
}

fn images(world: &World) -> impl Iterator<Item = &Image> {
    world.site.orders.iter().flat_map(|order| &order.images)
}

/// Waits until all published images are served.
fn serves_all(world: &World, after: &str, which: impl Fn(&Image) -> bool) {
    for image in images(world).filter(|image| which(image)) {
        let mut last = None;
        let is_served = until(RECOVERY, || {
            let status = probe(world, image).ok();
            last = status;
            world.failure().is_some() || status == Some(206) || image.state().phase != Phase::Published
        });
        if !is_served {
            world.fail(&format!("{}: {last:?} after {after}\n{}", image.title, world.process.log()));
        }
    }
}

fn certificate(world: &World) {
    let Some(authority) = &world.site.authority else { return };
    let new = authority.renew();
    world.process.reload();
    if !until(Duration::from_secs(20), || world.media.certificate().is_ok_and(|shown| shown.as_ref() == Some(&new))) {
        world.fail(&format!("the server does not show its new certificate\n{}", world.process.log()));
    }
}

fn token(world: &World, random: &mut Random) {
    let mut token = world.token.write().unwrap();
    let new = format!("{:032x}", random.next());
    write_secret(&world.site.path("token"), &new);
    world.process.reload();
    let is_taken = || matches!(api::get(world, "/v1/images", &new), Ok((200, _)));
    if !until(Duration::from_secs(20), is_taken) {
        return world.fail(&format!("the server does not take its new token\n{}", world.process.log()));
    }
    match api::get(world, "/v1/images", &token) {
        Ok((401, _)) => *token = new,
        other => world.fail(&format!("the old token still opens the API: {other:?}")),
    }
}
