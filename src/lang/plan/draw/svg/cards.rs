//! What stands in the cards of the picture, and how large that makes them.

use super::{
    super::super::graph::{Effect, Function, Graph},
    paper::{Paper, wide},
};

const PAD: f64 = 14.0;
/// From the top of a card to the middle of its first line.
const HEAD: f64 = 22.0;
const LINE: f64 = 19.0;
/// Letters of a line of fields.
const COLUMNS: usize = 44;
/// Letters of a title; what is longer is cut.
const LONGEST: usize = 60;
/// Letters before the type of an effect.
const VERB: usize = 9;

#[derive(Debug)]
pub(super) struct Card {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    title: String,
    /// Beside the title, at the right.
    side: String,
    /// Under the title: what the author says of it.
    notes: Vec<String>,
    pub(super) rows: Rows,
}

/// What stands under the title.
#[derive(Debug)]
pub(super) enum Rows {
    Lines(Vec<String>),
    /// Each effect or call: verb, what, lines of fields.
    Effects(Vec<(&'static str, String, Vec<String>)>),
    /// Types of a system, by their place in the graph.
    Types(Vec<(usize, String)>),
}

pub(super) fn source(graph: &Graph, on: usize) -> Card {
    let ty = graph.types.get(on);
    let connection = ty.and_then(|ty| graph.connections.get(ty.connection));
    let name = ty.map_or("?", |ty| ty.name.as_str());
    let from = connection.map_or("?", |connection| connection.name.as_str());
    Card::new(name, String::new(), Rows::Lines(vec![format!("of {from}")]))
}

pub(super) fn listen(graph: &Graph, index: usize) -> Card {
    let Some(listen) = graph.listens.get(index) else { return Card::new("?", String::new(), Rows::Lines(Vec::new())) };
    let circle = if graph.loops_of(index).next().is_some() { "\u{21bb}" } else { "" };
    let mut lines = vec![listen.settings.join(", ")];
    if let Some(filter) = &listen.filter {
        lines.extend(wrapped(&format!("where {filter}"), " ", COLUMNS));
    }
    let labelled = graph.types.get(listen.on).is_some_and(|ty| !listen.name.starts_with(ty.path.as_str()));
    let kinds = listen.kinds.join(", ");
    if labelled {
        lines.insert(0, kinds);
        Card::new(&listen.name, circle.to_owned(), Rows::Lines(lines))
    } else {
        Card::new(&kinds, circle.to_owned(), Rows::Lines(lines))
    }
}

pub(super) fn function(graph: &Graph, function: &Function) -> Card {
    let mut rows: Vec<_> = function.effects.iter().map(|one| effect(graph, one)).collect();
    for called in function.calls.iter().filter_map(|called| graph.functions.get(*called)) {
        rows.push(("calls", called.name.to_string(), Vec::new()));
    }
    for wait in &function.awaits {
        let mut lines = wrapped(wait, " ", COLUMNS).into_iter();
        rows.push(("waits", lines.next().unwrap_or_default(), lines.collect()));
    }
    let file = function.at.file.rsplit('/').next().unwrap_or_default();
    let notes = function.doc.iter().flat_map(|line| wrapped(line, " ", COLUMNS));
    Card::new(&function.name, format!("{file}:{}", function.at.line), Rows::Effects(rows)).noted(notes.collect())
}

fn effect(graph: &Graph, effect: &Effect) -> (&'static str, String, Vec<String>) {
    let ty = graph.types.get(effect.on);
    let connection = ty.and_then(|ty| graph.connections.get(ty.connection));
    let name = ty.map_or("?", |ty| ty.name.as_str());
    let of = connection.map_or("?", |connection| connection.name.as_str());
    let mut fields = wrapped(&effect.fields.join(", "), ", ", COLUMNS);
    if !effect.by.is_empty() {
        fields.extend(wrapped(&format!("by {}", effect.by.join(", ")), ", ", COLUMNS));
    }
    (effect.verb.word(), cut(&format!("{of} {name}")), fields)
}

pub(super) fn system(graph: &Graph, place: usize, types: Vec<usize>) -> Card {
    let connection = graph.connections.get(place);
    let name = connection.map_or("?", |connection| connection.name.as_str());
    let system = connection.map_or("", |connection| connection.system.as_str());
    let types = types.into_iter().map(|on| {
        let name = graph.types.get(on).map_or("?", |ty| ty.name.as_str());
        (on, cut(name))
    });
    Card::new(name, cut(system), Rows::Types(types.collect()))
}

impl Card {
    fn new(title: &str, side: String, rows: Rows) -> Self {
        let title = cut(title);
        let gap = if side.is_empty() { 0.0 } else { 24.0 };
        let mut width = wide(&title) * 1.02 + gap + wide(&side);
        let mut lines = 0;
        match &rows {
            Rows::Lines(texts) => {
                width = texts.iter().map(|text| wide(text)).fold(width, f64::max);
                lines += texts.len();
            }
            Rows::Effects(effects) => {
                for (_, what, fields) in effects {
                    let indent = wide(&" ".repeat(VERB));
                    width = width.max(indent + wide(what));
                    width = fields.iter().map(|text| indent + wide(text)).fold(width, f64::max);
                    lines += 1 + fields.len();
                }
            }
            Rows::Types(types) => {
                width = types.iter().map(|(_, name)| wide(name)).fold(width, f64::max);
                lines += types.len();
            }
        }
        let rule = if matches!(rows, Rows::Lines(_)) || lines == 0 { 0.0 } else { 14.0 };
        let height = HEAD * 2.0 - 4.0 + count(lines) * LINE + rule - if lines == 0 { 4.0 } else { 0.0 };
        Self { x: 0.0, y: 0.0, width: width + PAD * 2.0, height, title, side, notes: Vec::new(), rows }
    }

    fn noted(self, notes: Vec<String>) -> Self {
        let width = notes.iter().map(|text| wide(text) + PAD * 2.0).fold(self.width, f64::max);
        Self { width, height: self.height + count(notes.len()) * LINE, notes, ..self }
    }

    pub(super) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(super) fn middle(&self) -> f64 {
        self.y + self.height / 2.0
    }

    /// Where lines to the title arrive.
    pub(super) fn head(&self) -> f64 {
        self.y + HEAD
    }

    /// The middle of the first line of a row.
    pub(super) fn row(&self, row: usize) -> f64 {
        let before = match &self.rows {
            Rows::Effects(effects) => effects.iter().take(row).map(|(_, _, fields)| 1 + fields.len()).sum(),
            Rows::Lines(_) | Rows::Types(_) => row,
        };
        let rule = if matches!(self.rows, Rows::Lines(_)) { 0.0 } else { 14.0 };
        self.head() + rule + LINE * (count(before + self.notes.len()) + 1.0)
    }

    pub(super) fn draw(&self, paper: &mut Paper) {
        paper.card(self.x, self.y, self.width, self.height);
        let left = self.x + PAD;
        paper.text(left, self.head() + 4.0, "title", &self.title);
        if !self.side.is_empty() {
            paper.text_to(self.right() - PAD, self.head() + 4.0, "dim", &self.side);
        }
        for (line, text) in self.notes.iter().enumerate() {
            paper.text(left, self.head() + 4.0 + LINE * count(line + 1), "dim", text);
        }
        let empty = match &self.rows {
            Rows::Lines(_) => true,
            Rows::Effects(effects) => effects.is_empty(),
            Rows::Types(types) => types.is_empty(),
        };
        if !empty {
            paper.rule(self.x, self.head() + 16.0 + LINE * count(self.notes.len()), self.width);
        }
        match &self.rows {
            Rows::Lines(texts) => {
                for (row, text) in texts.iter().enumerate() {
                    paper.text(left, self.row(row) + 4.0, "dim", text);
                }
            }
            Rows::Effects(effects) => {
                let indent = left + wide(&" ".repeat(VERB));
                for (row, (verb, what, fields)) in effects.iter().enumerate() {
                    let mut y = self.row(row) + 4.0;
                    paper.text(left, y, "dim", verb);
                    paper.text(indent, y, "body", what);
                    for line in fields {
                        y += LINE;
                        paper.text(indent, y, "dim", line);
                    }
                }
            }
            Rows::Types(types) => {
                for (row, (_, name)) in types.iter().enumerate() {
                    paper.text(left, self.row(row) + 4.0, "body", name);
                }
            }
        }
    }
}

fn count(lines: usize) -> f64 {
    f64::from(u32::try_from(lines).unwrap_or(u32::MAX))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(LONGEST - 1).collect();
    short.push('…');
    short
}

/// Lines of at most so many letters, broken behind the joint; a word that is longer is cut.
fn wrapped(text: &str, joint: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_inclusive(joint).filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.trim_end().chars().count() <= columns => line.push_str(word),
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(|line| cut(line.trim_end())).collect()
}
