//! A text with places where its lines may break, and the one way of breaking them. Knows nothing of the language.
//!
//! A group stands on one line if it fits and nothing in it must end a line; else each of its own lines breaks. The
//! work is linear: whether a group fits is asked for at most a line's width.

/// Columns of one step to the right.
const STEP: usize = 2;

#[derive(Debug)]
pub(super) enum Doc {
    /// As it is; a text literal may hold newlines.
    Text(String),
    /// A space, or a new line where its group is broken.
    Line,
    /// Nothing, or a new line where its group is broken.
    Soft,
    /// A new line.
    Hard,
    /// An empty line between two lines.
    Blank,
    /// A new line, unless the line has just begun.
    Fresh,
    /// A comment that ends the line it is on, wherever that line ends.
    Trailing(String),
    /// Only where its group is broken.
    Broken(&'static str),
    /// Only where its group stands on one line.
    Flat(&'static str),
    Many(Vec<Doc>),
    Indent(Box<Doc>),
    Group {
        doc: Box<Doc>,
        broken: bool,
    },
}

impl Doc {
    pub(super) const NOTHING: Self = Self::Many(Vec::new());

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn indent(parts: Vec<Self>) -> Self {
        Self::Indent(Box::new(Self::Many(parts)))
    }

    /// On one line if that fits.
    pub(super) fn group(parts: Vec<Self>) -> Self {
        Self::group_broken(parts, false)
    }

    /// Broken from the start if asked for, or if something in it ends a line.
    pub(super) fn group_broken(parts: Vec<Self>, broken: bool) -> Self {
        let doc = Self::Many(parts);
        let broken = broken || doc.ends_lines();
        Self::Group { doc: Box::new(doc), broken }
    }

    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Many(parts) if parts.is_empty())
    }

    /// Whether something in it ends a line for certain.
    pub(super) fn ends_lines(&self) -> bool {
        match self {
            Self::Hard | Self::Blank | Self::Fresh | Self::Trailing(_) => true,
            Self::Text(_) | Self::Line | Self::Soft | Self::Broken(_) | Self::Flat(_) => false,
            Self::Many(parts) => parts.iter().any(Self::ends_lines),
            Self::Indent(doc) => doc.ends_lines(),
            Self::Group { doc: _, broken } => *broken,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flat,
    Broken,
}

type Piece<'d> = (usize, Mode, &'d Doc);

/// The lines of a text, each at most `width` columns where the text lets them.
pub(super) fn print(doc: &Doc, width: usize) -> String {
    let mut printer = Printer { out: String::new(), column: 0, indent: 0, begun: false, comments: Vec::new() };
    let mut todo: Vec<Piece<'_>> = vec![(0, Mode::Broken, doc)];
    while let Some((indent, mode, doc)) = todo.pop() {
        match doc {
            Doc::Text(text) => printer.text(text),
            Doc::Line if mode == Mode::Flat => printer.text(" "),
            Doc::Soft if mode == Mode::Flat => {}
            Doc::Line | Doc::Soft | Doc::Hard => printer.newline(indent),
            Doc::Blank => {
                printer.newline(indent);
                printer.out.push('\n');
            }
            Doc::Fresh => {
                if printer.begun {
                    printer.newline(indent);
                }
            }
            Doc::Trailing(comment) => printer.comment(comment),
            Doc::Broken(text) => {
                if mode == Mode::Broken {
                    printer.text(text);
                }
            }
            Doc::Flat(text) => {
                if mode == Mode::Flat {
                    printer.text(text);
                }
            }
            Doc::Many(parts) => todo.extend(parts.iter().rev().map(|part| (indent, mode, part))),
            Doc::Indent(inner) => todo.push((indent + STEP, mode, inner)),
            Doc::Group { doc, broken } => {
                let start = if printer.begun { printer.column } else { printer.indent };
                let fits = !broken && fits(doc, &todo, width.saturating_sub(start));
                todo.push((indent, if fits { Mode::Flat } else { Mode::Broken }, doc));
            }
        }
    }
    if printer.begun {
        printer.newline(0);
    }
    printer.out
}

/// The text on one line, if it can stand on one.
pub(super) fn flat(doc: &Doc) -> Option<String> {
    if doc.ends_lines() {
        return None;
    }
    let mut out = String::new();
    let mut todo = vec![doc];
    while let Some(doc) = todo.pop() {
        match doc {
            Doc::Text(text) => out.push_str(text),
            Doc::Line => out.push(' '),
            Doc::Flat(text) => out.push_str(text),
            Doc::Soft | Doc::Broken(_) | Doc::Hard | Doc::Blank | Doc::Fresh | Doc::Trailing(_) => {}
            Doc::Many(parts) => todo.extend(parts.iter().rev()),
            Doc::Indent(inner) => todo.push(inner),
            Doc::Group { doc, broken: _ } => todo.push(doc),
        }
    }
    (!out.contains('\n')).then_some(out)
}

/// Whether a group and what follows it up to the next place where the line may end fits the rest of the line.
fn fits(doc: &Doc, rest: &[Piece<'_>], room: usize) -> bool {
    let mut room = room;
    let mut behind = rest.iter().rev();
    let mut todo = vec![(Mode::Flat, doc)];
    loop {
        let Some((mode, doc)) = todo.pop().or_else(|| behind.next().map(|(_, mode, doc)| (*mode, *doc))) else {
            return true;
        };
        let text = match doc {
            Doc::Text(text) => text,
            Doc::Line if mode == Mode::Flat => " ",
            Doc::Soft if mode == Mode::Flat => "",
            // INVARIANT: a group that is asked about ends no line, so these stand behind it.
            Doc::Line | Doc::Soft | Doc::Hard | Doc::Blank | Doc::Fresh | Doc::Trailing(_) => return true,
            Doc::Broken(text) => {
                if mode == Mode::Broken {
                    text
                } else {
                    ""
                }
            }
            Doc::Flat(text) => {
                if mode == Mode::Flat {
                    text
                } else {
                    ""
                }
            }
            Doc::Many(parts) => {
                todo.extend(parts.iter().rev().map(|part| (mode, part)));
                ""
            }
            Doc::Indent(inner) => {
                todo.push((mode, inner));
                ""
            }
            Doc::Group { doc, broken } => {
                todo.push((if *broken { Mode::Broken } else { mode }, doc));
                ""
            }
        };
        let first = text.split('\n').next().unwrap_or_default();
        let Some(left) = room.checked_sub(columns(first)) else { return false };
        if first.len() < text.len() {
            return true;
        }
        room = left;
    }
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

struct Printer {
    out: String,
    column: usize,
    /// Where this line begins: as far to the right as the place that ended the line before.
    indent: usize,
    /// Something stands on this line.
    begun: bool,
    comments: Vec<String>,
}

impl Printer {
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.begun {
            if text == " " {
                return;
            }
            self.out.extend(std::iter::repeat_n(' ', self.indent));
            self.column = self.indent;
            self.begun = true;
        }
        self.out.push_str(text);
        match text.rsplit_once('\n') {
            Some((_, last)) => self.column = columns(last),
            None => self.column += columns(text),
        }
    }

    fn newline(&mut self, indent: usize) {
        let length = self.out.trim_end_matches(' ').len();
        self.out.truncate(length);
        for comment in self.comments.drain(..) {
            self.out.push(' ');
            self.out.push_str(&comment);
        }
        self.out.push('\n');
        self.column = 0;
        self.indent = indent;
        self.begun = false;
    }

    fn comment(&mut self, comment: &str) {
        if self.begun {
            self.comments.push(comment.to_owned());
        } else {
            self.text(comment);
            self.newline(self.indent);
        }
    }
}
