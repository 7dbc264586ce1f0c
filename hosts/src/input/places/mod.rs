//! Where findings stand in the texts that the user handed over: the line and the column of a [`DocumentPath`].
//!
//! `serde_yaml` builds values without positions. So the texts are read a second time, by a parser that knows where each
//! token stands, but only when there are findings, and only the documents that they are about. What cannot be found is no
//! error: the finding then has its path, and no position.

mod documents;
mod keyfile;
mod tree;

use std::collections::BTreeMap;

use super::Limits;
use super::text::{Text, TextKind};
use super::yaml::{self, Budget};
use tree::{Place, Tree};
use vocabulary::report::{DocumentPath, LineColumn, Position, Report, Step};

/// A finding, and the way from the top of its document to what it is about.
struct Wanted {
    finding: usize,
    way: Vec<Step>,
    in_text: Option<LineColumn>,
}

/// What is wanted of one text: directly of it, and of its documents by their number (from 1).
#[derive(Default)]
struct WantedOfText {
    text: Vec<Wanted>,
    documents: BTreeMap<usize, Vec<Wanted>>,
}

/// Gives the findings of `report` their positions in `texts`, of which they were made.
pub fn locate<'a>(texts: impl IntoIterator<Item = Text<'a>>, report: &mut Report) {
    locate_within(Limits::REQUEST, texts, report);
}

/// [`locate`], within other limits.
pub fn locate_within<'a>(limits: Limits, texts: impl IntoIterator<Item = Text<'a>>, report: &mut Report) {
    if report.is_empty() {
        return;
    }
    let texts: Vec<Text<'a>> = texts.into_iter().collect();
    let wanted = wanted(&texts, report);
    for (text, wanted) in texts.iter().zip(wanted) {
        for (finding, Place { at: LineColumn { line, column }, within }) in places(limits, text, &wanted) {
            if let Some(finding) = report.findings_mut().get_mut(finding) {
                finding.position = Some(Position { file: text.name.map(str::to_owned), line, column, within });
            }
        }
    }
}

/// For each text, what is wanted of it.
fn wanted(texts: &[Text<'_>], report: &Report) -> Vec<WantedOfText> {
    let tops: BTreeMap<DocumentPath, usize> =
        texts.iter().enumerate().map(|(index, text)| (text.top(), index)).collect();
    let names: BTreeMap<&DocumentPath, &DocumentPath> =
        report.names().iter().map(|(name, place)| (name, place)).collect();
    let mut all: Vec<WantedOfText> = texts.iter().map(|_| WantedOfText::default()).collect();
    for (finding, found) in report.findings().iter().enumerate() {
        let mut path = found.path.clone();
        // What stands for an object, such as a host of a fleet, leads to the object, and that to its document.
        for _ in 0..2 {
            let is_placed = |top: &DocumentPath| {
                tops.contains_key(top) && path.steps_from(top).is_some_and(|steps| document_number(&steps).is_some())
            };
            if path.tops().any(is_placed) {
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
        // A text is read where a step leads into it, so that it needs no step of its own.
        let leads = |step: &&&Step| step.as_key().is_some() || step.as_index().is_some();
        let way = steps.iter().filter(leads).map(|&step| step.clone()).collect();
        wanted.push(Wanted { finding, way, in_text: found.in_text });
    }
    all
}

/// Which document of a text the steps lead into.
fn document_number(steps: &[&Step]) -> Option<usize> {
    steps.first()?.as_document_number()
}

fn places(limits: Limits, text: &Text<'_>, wanted: &WantedOfText) -> Vec<(usize, Place)> {
    let mut places = Vec::new();
    if wanted.text.is_empty() && wanted.documents.is_empty() {
        return places;
    }
    // That of a text which cannot be unpacked is known, too.
    for Wanted { finding, in_text, .. } in &wanted.text {
        places.extend(in_text.map(|at| (*finding, Place::plain(at))));
    }
    let Ok(content) = text.content(&mut Budget::within(limits)) else { return places };
    for Wanted { finding, way, in_text } in &wanted.text {
        if in_text.is_none() && text.kind() == TextKind::Keyfile {
            places.extend(keyfile::find(&content, way).map(|at| (*finding, Place::plain(at))));
        }
    }
    let (Some(last), Ok(content)) = (wanted.documents.keys().last(), yaml::readable(&content)) else { return places };
    for part in documents::parts(content, *last) {
        let Some(wanted) = wanted.documents.get(&part.number) else { continue };
        let Some(mut tree) = Tree::read(part.text, part.index, limits.values) else { continue };
        for Wanted { finding, way, in_text } in wanted {
            if let Some(place) = tree.find(way, *in_text) {
                places.push((*finding, place.moved(part.line)));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests;
