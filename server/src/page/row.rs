//! A boot as one row.

use askama::Template;
use askama::filters::HtmlSafe;

use super::moment::Moment;
use super::reading::ReadView;
use crate::api::Api;
use crate::boots::{BootState, Listed, StepRecord, StepState};

/// A boot as one row.
#[derive(Debug, Template)]
#[template(path = "row.html")]
pub(super) struct Row {
    pub(super) id: String,
    /// The host's name, or the address of its BMC.
    pub(super) name: String,
    pub(super) state: String,
    /// The class of its colours.
    pub(super) tone: &'static str,
    /// Why the boot is in its state, or what it is doing.
    pub(super) reason: String,
    pub(super) steps: Vec<StepMark>,
    /// What was read of its image; none if that does not matter any more.
    pub(super) read: Option<ReadView>,
    /// Whether the row is short, because there is nothing to watch.
    pub(super) quiet: bool,
    pub(super) created: Moment,
}

/// A step in a row.
#[derive(Debug)]
pub(super) struct StepMark {
    pub(super) name: String,
    pub(super) state: String,
    /// A sign for those who see it.
    pub(super) sign: &'static str,
}

impl HtmlSafe for Row {}

impl Row {
    /// Makes the row. Waits for the disk: the first time, this reads directories of the image.
    pub(super) fn new(api: &Api, listed: &Listed) -> Self {
        let record = &listed.boot.view.record;
        let watched = listed.group.is_watched();
        let image = watched.then(|| api.store.image(&record.image)).flatten();
        let read = image.map(|image| ReadView::of(&image));
        // The bars show that already.
        let repeats =
            |reason: &String| read.as_ref().is_some_and(|read| read.summary == *reason && !read.bars.is_empty());
        Self {
            id: record.id.to_string(),
            name: listed.boot.name.clone(),
            state: record.state.to_string(),
            tone: tone(record.state),
            reason: Some(listed.boot.view.reason()).filter(|reason| !repeats(reason)).unwrap_or_default(),
            steps: record.steps().iter().map(mark).collect(),
            read,
            quiet: !watched,
            created: record.created.into(),
        }
    }
}

/// The class of the colours of a state.
pub(super) fn tone(state: BootState) -> &'static str {
    match state {
        BootState::Queued | BootState::Ejected => "wait",
        BootState::Running | BootState::Ejecting => "run",
        BootState::Booted => "good",
        BootState::Unknown => "doubt",
        BootState::Failed => "bad",
    }
}

fn mark(step: &StepRecord) -> StepMark {
    StepMark { name: step.step.in_words(), state: step.state.to_string(), sign: sign(step.state) }
}

/// A sign for the state of a step.
pub(super) fn sign(state: StepState) -> &'static str {
    match state {
        StepState::Waiting => "·",
        StepState::Running => "▸",
        StepState::Done => "✓",
        StepState::Failed => "✕",
        StepState::Skipped => "–",
        StepState::Unknown => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_reasons_are_text_and_never_html() {
        let hostile = "\"><script>alert('x')</script>&amp;";
        let row = Row {
            id: "06gq1k2m5v8t3n4p".to_owned(),
            name: hostile.to_owned(),
            state: "failed".to_owned(),
            tone: "bad",
            reason: hostile.to_owned(),
            steps: vec![StepMark { name: "insert".to_owned(), state: "failed".to_owned(), sign: "✕" }],
            read: None,
            quiet: false,
            created: Moment::of("2026-02-28T23:59:59.123Z".to_owned()),
        };
        let html = row.render().unwrap();
        assert!(!html.contains("<script") && !html.contains("&amp;</") && html.contains("alert("), "{html}");
        // The only angle brackets are those of the template.
        let plain = Row { name: "x".to_owned(), reason: "x".to_owned(), ..row }.render().unwrap();
        assert_eq!(html.matches(['<', '>']).count(), plain.matches(['<', '>']).count(), "{html}");
        assert_eq!(html.matches('"').count(), plain.matches('"').count(), "{html}");
    }
}
