//! Spans to places: file, line, column and the line's text, each distinct place once. Knows nothing of what stands there.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::ir::{Place, PlaceId};
use crate::source::{SourceFile, SourceId, SourceMap, Span};

/// Characters of a source line that a place keeps.
const LINE: usize = 120;

pub(super) struct Places<'s> {
    sources: &'s SourceMap,
    /// Byte offsets of line starts, by text: looking a line up must not read the text again.
    lines: BTreeMap<SourceId, Vec<u32>>,
    known: BTreeMap<(SourceId, u32, SmolStr, SmolStr), PlaceId>,
    places: Vec<Place>,
}

impl<'s> Places<'s> {
    pub(super) fn new(sources: &'s SourceMap) -> Self {
        Self { sources, lines: BTreeMap::new(), known: BTreeMap::new(), places: Vec::new() }
    }

    /// The place where `span` starts; `says` is what leaves the machine there.
    pub(super) fn id(&mut self, span: Span, says: &str) -> PlaceId {
        self.of_field(span, says, "")
    }

    /// The same of one field of what leaves the machine.
    pub(super) fn of_field(&mut self, span: Span, says: &str, field: &str) -> PlaceId {
        let key = (span.source, span.start, SmolStr::new(says), SmolStr::new(field));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let id = PlaceId(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
        let place = Place { field: SmolStr::new(field), ..self.place(span, says) };
        self.places.push(place);
        self.known.insert(key, id);
        id
    }

    /// What stands there, on one line, at most so long.
    pub(super) fn text(&self, span: Span) -> SmolStr {
        let written = self.sources.get(span.source).map(|file| file.slice(span)).unwrap_or_default();
        let mut text = String::new();
        for word in written.split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
            if text.chars().count() > LINE {
                text = text.chars().take(LINE - 1).collect();
                text.push('…');
                break;
            }
        }
        text.into()
    }

    pub(super) fn into_places(self) -> Vec<Place> {
        self.places
    }

    fn place(&mut self, span: Span, says: &str) -> Place {
        let Some(file) = self.sources.get(span.source) else {
            return Place {
                file: SmolStr::default(),
                line: 1,
                column: 1,
                text: SmolStr::default(),
                says: SmolStr::new(says),
                field: SmolStr::default(),
            };
        };
        let starts = self.lines.entry(span.source).or_insert_with(|| line_starts(file));
        let line = starts.partition_point(|start| *start <= span.start);
        let start = line.checked_sub(1).and_then(|index| starts.get(index)).copied().unwrap_or(0) as usize;
        let end = starts.get(line).map_or(file.text.len(), |next| *next as usize);
        let column = file.text.get(start..span.start as usize).unwrap_or_default().chars().count() + 1;
        let whole = file.text.get(start..end).unwrap_or_default().trim();
        let mut text: String = whole.chars().take(LINE).collect();
        if text.len() < whole.len() {
            let _last = text.pop();
            text.push('…');
        }
        Place {
            file: SmolStr::new(&file.path),
            line: u32::try_from(line.max(1)).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            text: text.into(),
            says: SmolStr::new(says),
            field: SmolStr::default(),
        }
    }
}

fn line_starts(file: &SourceFile) -> Vec<u32> {
    let after = file.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(after.filter_map(|at| u32::try_from(at).ok())).collect()
}
