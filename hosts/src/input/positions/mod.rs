//! Finds the line and the column of findings in the user's texts.
//!
//! Values have no positions. So dayone parses the texts a second time and keeps the positions, but only if there are findings, and
//! only the documents with findings. If it does not find a position, the finding only has its path.

mod keyfile;
pub(super) mod members;
mod stream;
mod tree;

use std::collections::BTreeMap;

use super::shapes::fleet::OwnDocument;
use super::text::{Text, TextKind};
use super::yaml::{self, Budget, Limits};
use tree::{Place, Trees};
use vocabulary::report::{DocumentPath, LineColumn, Position, Report, Step};

/// A finding, and the steps from the top of its document to its place.
struct Wanted {
    finding: usize,
    steps: Vec<Step>,
    in_text: Option<LineColumn>,
}

/// The findings in one text: about the text itself, and about its documents by their number (from 1).
#[derive(Default)]
struct WantedOfText {
    text: Vec<Wanted>,
    documents: BTreeMap<usize, Vec<Wanted>>,
}

/// Sets the positions of the findings in `report`, which is about `texts`.
pub fn locate<'a>(texts: impl IntoIterator<Item = Text<'a>>, report: &mut Report) {
    locate_within(Limits::REQUEST, texts, report);
}

/// [`locate`] with other limits.
pub fn locate_within<'a>(limits: Limits, texts: impl IntoIterator<Item = Text<'a>>, report: &mut Report) {
    if report.is_empty() {
        return;
    }
    let texts: Vec<Text<'a>> = texts.into_iter().collect();
    let own = |text: &Text<'_>| OwnDocument::of(text, &mut Budget::within(limits)).ok().flatten();
    let own: Vec<OwnDocument> = texts.iter().filter_map(own).collect();
    let texts: Vec<Text<'_>> = texts.into_iter().chain(own.iter().map(OwnDocument::text)).collect();
    let wanted = wanted(&texts, report);
    for (text, wanted) in texts.iter().zip(wanted) {
        for (finding, Place { at: LineColumn { line, column }, within }) in places(limits, text, &wanted) {
            if let Some(finding) = report.findings_mut().get_mut(finding) {
                finding.position = Some(Position { file: text.name.map(str::to_owned), line, column, within });
            }
        }
    }
}

/// Groups the findings by text.
fn wanted(texts: &[Text<'_>], report: &Report) -> Vec<WantedOfText> {
    let tops: BTreeMap<DocumentPath, usize> =
        texts.iter().enumerate().map(|(index, text)| (text.top(), index)).collect();
    let names: BTreeMap<&DocumentPath, &DocumentPath> =
        report.names().iter().map(|(name, place)| (name, place)).collect();
    let mut all: Vec<WantedOfText> = texts.iter().map(|_| WantedOfText::default()).collect();
    for (finding, found) in report.findings().iter().enumerate() {
        let mut path = found.path.clone();
        // A name may stand for another name: the name of a fleet's host for the fleet, and that for its document.
        for _ in 0..2 {
            let is_in_text = |top: &DocumentPath| {
                tops.contains_key(top) && path.steps_from(top).is_some_and(|steps| document_number(&steps).is_some())
            };
            if path.tops().any(is_in_text) {
                break;
            }
            let object = path.tops().find_map(|name| Some((names.get(name)?, path.steps_from(name)?)));
            let Some((place, rest)) = object else { break };
            path = place.followed_by(&rest);
        }
        let text = path.tops().find_map(|top| Some((*tops.get(top)?, path.steps_from(top)?)));
        let Some((index, steps)) = text else { continue };
        let Some(of_text) = all.get_mut(index) else { continue };
        let (wanted, steps) = match (document_number(&steps), steps.split_first()) {
            (Some(number), Some((_, steps))) => (of_text.documents.entry(number).or_default(), steps),
            _ => (&mut of_text.text, &*steps),
        };
        // A step into an embedded text follows from the steps inside it.
        let leads = |step: &&&Step| step.as_key().is_some() || step.as_index().is_some();
        let steps = steps.iter().filter(leads).map(|&step| step.clone()).collect();
        wanted.push(Wanted { finding, steps, in_text: found.in_text });
    }
    all
}

/// Returns the number of the document that the steps lead into.
fn document_number(steps: &[&Step]) -> Option<usize> {
    steps.first()?.as_document_number()
}

fn places(limits: Limits, text: &Text<'_>, wanted: &WantedOfText) -> Vec<(usize, Place)> {
    let mut places = Vec::new();
    if wanted.text.is_empty() && wanted.documents.is_empty() {
        return places;
    }
    // These positions are known even if the text cannot be decompressed.
    for Wanted { finding, in_text, .. } in &wanted.text {
        places.extend(in_text.map(|at| (*finding, Place::plain(at))));
    }
    let Ok(content) = text.content(&mut Budget::within(limits)) else { return places };
    let lines = if text.kind() == TextKind::Keyfile { keyfile::Lines::of(&content) } else { None };
    for Wanted { finding, steps, in_text } in &wanted.text {
        if in_text.is_none()
            && let Some(lines) = &lines
        {
            places.push((*finding, Place::plain(lines.find(steps))));
        }
    }
    let (Some(last), Ok(content)) = (wanted.documents.keys().last(), yaml::readable(&content)) else { return places };
    let mut trees: Option<Trees<'_>> = None;
    for part in stream::parts(content, *last) {
        let Some(wanted) = wanted.documents.get(&part.number) else { continue };
        let same = trees.take().filter(|trees| trees.is_of(part.text));
        let of_part = trees.insert(same.unwrap_or_else(|| Trees::of(part.text, limits.values)));
        let Some(mut tree) = of_part.read(part.index) else { continue };
        for Wanted { finding, steps, in_text } in wanted {
            if let Some(place) = tree.find(steps, *in_text) {
                places.push((*finding, place.moved(part.line)));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests;
