//! Which images can be ordered, and what the test knows of each: whether it is published, its URL, what its bytes must be.

use std::sync::Mutex;

use super::oracle::Expected;

/// Whether an image is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The server has acknowledged that it is not, or nobody ever ordered it.
    Absent,
    /// The server has acknowledged it.
    Published,
    /// A request for it runs, or had no answer.
    Uncertain,
}

/// One file of an image.
#[derive(Debug)]
pub(crate) struct ImageFile {
    pub(crate) name: &'static str,
    pub(crate) expected: Expected,
    /// The entity tag of its first answer: it never changes.
    pub(crate) etag: Mutex<Option<String>>,
}

impl ImageFile {
    pub(crate) fn new(name: &'static str, expected: Expected) -> Self {
        Self { name, expected, etag: Mutex::default() }
    }
}

/// What is known of an image at a moment.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    /// Grows with every change of the phase.
    pub(crate) changes: u64,
    /// The id and the beginning of its URLs, from its first publication on: both never change.
    pub(crate) place: Option<(String, String)>,
}

/// An image over one version of a base.
#[derive(Debug)]
pub(crate) struct Image {
    /// What identifies it in a message.
    pub(crate) title: String,
    pub(crate) files: Vec<ImageFile>,
    /// The configured base that it is over, if it is over one.
    pub(crate) configured: Option<usize>,
    state: Mutex<State>,
}

impl Image {
    pub(crate) fn new(title: String, files: Vec<ImageFile>, configured: Option<usize>) -> Self {
        let state = State { phase: Phase::Absent, changes: 0, place: None };
        Self { title, files, configured, state: Mutex::new(state) }
    }

    pub(crate) fn state(&self) -> State {
        self.state.lock().unwrap().clone()
    }

    pub(crate) fn set(&self, phase: Phase) {
        let mut state = self.state.lock().unwrap();
        state.phase = phase;
        state.changes += 1;
    }

    /// Notes where the server says that it is. Returns what is wrong about that.
    pub(crate) fn place(&self, id: &str, url: &str) -> Result<(), String> {
        let beginning = url.rsplit_once('/').map(|(beginning, _)| beginning.to_owned()).unwrap_or_default();
        let mut state = self.state.lock().unwrap();
        let place = (id.to_owned(), beginning);
        match &state.place {
            Some(before) if *before != place => {
                return Err(format!("{}: its id and URL were {before:?}, and are {place:?}", self.title));
            }
            Some(_) => {}
            None => {
                self.files.iter().for_each(|file| file.expected.published_at(&place.1));
                state.place = Some(place);
            }
        }
        Ok(())
    }
}

/// An order: its parameters and its document, and the images that it can give. Which one depends on the version of its base that is
/// there.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) query: String,
    pub(crate) document: String,
    pub(crate) images: Vec<Image>,
    /// Whether its base is the one that comes and goes.
    pub(crate) is_rolling: bool,
    /// Held by the one publisher who changes its images.
    pub(crate) changing: Mutex<()>,
}
