//! Reads images as firmware does, and compares every byte.

use std::io;
use std::time::Duration;

use super::client::Connection;
use super::orders::{Image, ImageFile, Phase, State};
use super::random::Random;
use super::windows::Look;
use super::world::{World, add};

/// How a reader reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Ranges of 2 KiB, 64 KiB and 1 MiB from anywhere, on one connection.
    Ranges,
    /// Whole files.
    Whole,
    /// Only how long a file is.
    Head,
    /// A whole file, with pauses.
    Slow,
    /// Part of a file, and then no more of the connection.
    Abort,
}

/// A file to read, and what was known of it before the request.
pub(crate) struct Choice<'a> {
    pub(crate) image: &'a Image,
    pub(crate) file: &'a ImageFile,
    pub(crate) path: String,
    state: State,
    look: Look,
}

/// Chooses a file of an image that has been published before, and in most cases still is.
pub(crate) fn choose<'a>(world: &'a World, random: &mut Random) -> Option<Choice<'a>> {
    for _ in 0..20 {
        let order = random.pick(&world.site.orders)?;
        let image = random.pick(&order.images)?;
        let look = world.windows.look();
        let state = image.state();
        let Some((_, beginning)) = &state.place else { continue };
        if state.phase == Phase::Absent && !random.percent(10) {
            continue;
        }
        let file = random.pick(&image.files)?;
        let path = format!("{}/{}", beginning.strip_prefix(&world.media_url).unwrap_or(beginning), file.name);
        return Some(Choice { image, file, path, state, look });
    }
    None
}

impl Choice<'_> {
    pub(crate) fn url(&self, world: &World) -> String {
        format!("{}{}", world.media_url, self.path)
    }

    fn is_unchanged(&self) -> bool {
        self.image.state().changes == self.state.changes
    }

    /// Whether a connection may have broken.
    pub(crate) fn may_break(&self, world: &World) -> bool {
        world.windows.was_down_since(self.look)
            || world.windows.was_disturbed_since(self.look, self.image.configured)
            || !self.is_unchanged()
            || self.state.phase != Phase::Published
    }

    /// Whether an answer with this status, which is none with bytes, is right.
    fn may_answer(&self, world: &World, status: u16) -> bool {
        match status {
            404 => self.state.phase != Phase::Published || !self.is_unchanged(),
            503 => {
                world.windows.was_down_since(self.look)
                    || world.windows.was_disturbed_since(self.look, self.image.configured)
            }
            _ => false,
        }
    }

    /// Whether the server may serve the image at all.
    fn may_serve(&self) -> bool {
        self.state.phase != Phase::Absent || !self.is_unchanged()
    }

    pub(crate) fn wrong_byte(&self, world: &World, offset: u64, how: &str) {
        let log = world.process.log();
        world.fail(&format!(
            "WRONG BYTE at offset {offset} of {} ({}, {how})\n{log}",
            self.url(world),
            self.image.title
        ));
    }
}

/// Reads until the run ends.
pub(crate) fn read(world: &World, number: usize, habit: Habit) {
    let mut random = world.random(&format!("reader {number}"));
    let mut connection = None;
    while !world.is_over() {
        let Some(choice) = choose(world, &mut random) else {
            world.pause(Duration::from_millis(100));
            continue;
        };
        // Firmware asks for several ranges of a file.
        let requests = if habit == Habit::Ranges { 1 + random.below(24) } else { 1 };
        for _ in 0..requests {
            let is_reused = connection.as_ref().is_some_and(|connection: &Connection| connection.is_used);
            match exchange(world, &choice, habit, &mut random, &mut connection) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    connection = None;
                    // The server may close a connection between two requests.
                    let is_excused = choice.may_break(world) || (is_reused && is_closed(&error));
                    if !is_excused {
                        let log = world.process.log();
                        let state = world.process.ended().unwrap_or_else(|| "alive".to_owned());
                        world.fail(&format!(
                            "{} ({}, {habit:?}): {error}; the server is {state}\n{log}",
                            choice.url(world),
                            choice.image.title
                        ));
                    }
                    add(&world.counts.excused, 1);
                    world.pause(Duration::from_millis(100));
                    break;
                }
            }
        }
        world.pause(Duration::from_millis(random.below(40)));
    }
}

/// Whether the connection ended before the first byte of an answer.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let no_byte = !error.to_string().contains(" bytes");
    no_byte && matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// One request, with the comparison of its answer. Returns whether another one of the same file makes sense.
fn exchange(
    world: &World,
    choice: &Choice,
    habit: Habit,
    random: &mut Random,
    connection: &mut Option<Connection>,
) -> io::Result<bool> {
    let size = choice.file.expected.size();
    let range = (habit == Habit::Ranges).then(|| {
        let length = random.pick(&[2 << 10, 64 << 10, 1 << 20]).copied().unwrap_or(2048).min(size);
        let first = random.below(size - length + 1);
        (first, first + length - 1)
    });
    let method = if habit == Habit::Head { "HEAD" } else { "GET" };
    let open = match connection.take() {
        Some(open) => connection.insert(open),
        None => connection.insert(world.media.connect()?),
    };
    let answer = open.request(method, &choice.path, range)?;
    add(&world.counts.requests, 1);
    let (expected_status, from, length) = match range {
        Some((first, last)) => (206, first, last - first + 1),
        None => (200, 0, size),
    };
    if answer.status != expected_status {
        if !choice.may_answer(world, answer.status) {
            let log = world.process.log();
            world.fail(&format!("{} ({}): {answer:?}\n{log}", choice.url(world), choice.image.title));
        }
        add(&world.counts.excused, 1);
        let rest = if method == "HEAD" { 0 } else { answer.length };
        open.body(rest, |_, _| true)?;
        if answer.closes {
            *connection = None;
        }
        return Ok(false);
    }
    let expected_range = range.map(|(first, last)| format!("bytes {first}-{last}/{size}"));
    if answer.length != length || answer.range != expected_range {
        world.fail(&format!("{} ({}): {length} bytes, {answer:?}", choice.url(world), choice.image.title));
    }
    if !choice.may_serve() {
        world.fail(&format!("{} ({}) was deleted, and is served", choice.url(world), choice.image.title));
    }
    let mut etag = choice.file.etag.lock().unwrap();
    match (&*etag, &answer.etag) {
        (_, None) => world.fail(&format!("{}: no entity tag", choice.url(world))),
        (None, Some(_)) => etag.clone_from(&answer.etag),
        (Some(before), Some(now)) if before != now => {
            world.fail(&format!("{}: its entity tag was {before}, and is {now}", choice.url(world)));
        }
        _ => {}
    }
    drop(etag);
    if habit == Habit::Head {
        return Ok(false);
    }
    let stop_after = if habit == Habit::Abort { random.below(length) } else { u64::MAX };
    let mut is_aborted = false;
    let done = open.body(length, |offset, bytes| {
        add(&world.counts.bytes, bytes.len() as u64);
        if let Some(wrong) = choice.file.expected.first_difference(from + offset, bytes) {
            choice.wrong_byte(world, wrong, &format!("{habit:?}, range {range:?}"));
            return false;
        }
        if habit == Habit::Slow {
            world.pause(Duration::from_millis(15));
        }
        is_aborted = offset >= stop_after || world.is_over();
        !is_aborted
    });
    if is_aborted || answer.closes {
        *connection = None;
    }
    done.map_err(|error| io::Error::new(error.kind(), format!("{error} bytes")))?;
    Ok(habit == Habit::Ranges)
}

/// Checks that an image that was just deleted is served no more.
pub(crate) fn is_gone(world: &World, image: &Image) {
    let look = world.windows.look();
    let state = image.state();
    let (Some((_, beginning)), Some(file)) = (&state.place, image.files.first()) else { return };
    let path = format!("{}/{}", beginning.strip_prefix(&world.media_url).unwrap_or(beginning), file.name);
    match world.media.connect().and_then(|mut connection| connection.request("HEAD", &path, None)) {
        Ok(answer) if answer.status == 404 => {}
        Err(_) if world.windows.was_down_since(look) => {}
        other => world.fail(&format!("{} was deleted, and answers {other:?}", image.title)),
    }
}

/// What the server says to a small range of each file of an image: the first status that is not 206.
pub(crate) fn probe(world: &World, image: &Image) -> io::Result<u16> {
    let state = image.state();
    let Some((_, beginning)) = &state.place else { return Ok(0) };
    for file in &image.files {
        let path = format!("{}/{}", beginning.strip_prefix(&world.media_url).unwrap_or(beginning), file.name);
        let status = world.media.connect()?.request("GET", &path, Some((0, 99)))?.status;
        if status != 206 {
            return Ok(status);
        }
    }
    Ok(206)
}
