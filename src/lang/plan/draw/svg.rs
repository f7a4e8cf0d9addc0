//! The graph as a picture: sources, listens, functions, systems, from left to right.
//!
//! Everything that is said stands in a card; lines run only in the gaps between the columns, so that none crosses a
//! word. Letters are of one width, which is how the cards know how wide they are.

mod cards;
mod paper;

use cards::{Card, Rows};
use paper::Paper;

use super::super::graph::{Effect, FunctionIndex, Graph, Waits};

const MARGIN: f64 = 28.0;
const TOP: f64 = 64.0;
/// Between two cards of a column.
const GAP: f64 = 24.0;
/// Between two columns.
const STREET: f64 = 84.0;
/// Between two calls beside each other.
const LANE: f64 = 10.0;

/// The whole graph.
#[must_use]
pub fn svg(graph: &Graph) -> String {
    let plot = Plot::new(graph);
    let mut paper = Paper::default();
    plot.headings(&mut paper);
    plot.lines(&mut paper);
    plot.waits(&mut paper);
    for card in plot.cards() {
        card.draw(&mut paper);
    }
    plot.dots(&mut paper);
    let bottom = plot.cards().map(|card| card.y + card.height).fold(TOP, f64::max);
    let bottom = plot.footer(bottom + GAP, &mut paper);
    let width = plot.cards().map(|card| card.x + card.width).fold(320.0, f64::max) + MARGIN;
    let width = width.max(paper.right + MARGIN);
    paper.finish(width, bottom + MARGIN, &plot.says())
}

/// Where everything stands.
struct Plot<'g> {
    graph: &'g Graph,
    sources: Vec<(usize, Card)>,
    listens: Vec<Card>,
    functions: Vec<Card>,
    systems: Vec<(usize, Card)>,
    /// Each call: from, to, the row of the caller.
    calls: Vec<(FunctionIndex, FunctionIndex, usize)>,
}

impl<'g> Plot<'g> {
    fn new(graph: &'g Graph) -> Self {
        let order = order(graph);
        let mut functions: Vec<Card> = graph.functions.iter().map(|one| cards::function(graph, one)).collect();
        let mut listens: Vec<Card> = (0..graph.listens.len()).map(|index| cards::listen(graph, index)).collect();
        // Functions and the listens that fire them begin at one height.
        let mut y = TOP;
        for index in order {
            let mut below = y;
            for (listen, card) in graph.listens.iter().zip(&mut listens) {
                if listen.fires == index {
                    card.y = below;
                    below += card.height + GAP;
                }
            }
            if let Some(card) = functions.get_mut(index) {
                card.y = y;
                below = below.max(y + card.height + GAP);
            }
            y = below;
        }
        let mut sources = sources(graph, &listens);
        let mut systems = systems(graph, &functions);
        let calls: Vec<_> = graph
            .functions
            .iter()
            .enumerate()
            .flat_map(|(from, function)| {
                function.calls.iter().enumerate().map(move |(place, to)| (from, *to, function.effects.len() + place))
            })
            .collect();
        let lanes = f64::from(u32::try_from(calls.len()).unwrap_or(u32::MAX)) * LANE;
        let many: usize = graph.functions.iter().map(|function| function.effects.len()).sum();
        let effects = f64::from(u32::try_from(many).unwrap_or(u32::MAX)) * 5.0;
        let mut x = MARGIN;
        x = column(sources.iter_mut().map(|(_, card)| card), x, STREET);
        x = column(listens.iter_mut(), x, STREET + lanes);
        x = column(functions.iter_mut(), x, STREET + effects.min(160.0));
        column(systems.iter_mut().map(|(_, card)| card), x, 0.0);
        Self { graph, sources, listens, functions, systems, calls }
    }

    fn cards(&self) -> impl Iterator<Item = &Card> {
        let sources = self.sources.iter().map(|(_, card)| card);
        let systems = self.systems.iter().map(|(_, card)| card);
        sources.chain(&self.listens).chain(&self.functions).chain(systems)
    }

    fn headings(&self, paper: &mut Paper) {
        let columns = [
            ("sources", self.sources.first().map(|(_, card)| card)),
            ("listens", self.listens.first()),
            ("functions", self.functions.first()),
            ("systems", self.systems.first().map(|(_, card)| card)),
        ];
        for (word, card) in columns {
            if let Some(card) = card {
                paper.text(card.x, 40.0, "heading", word);
            }
        }
    }

    fn lines(&self, paper: &mut Paper) {
        for (index, (listen, card)) in self.graph.listens.iter().zip(&self.listens).enumerate() {
            let circle = self.graph.loops_of(index).next().is_some();
            let class = if circle { "line loop" } else { "line fire" };
            if let Some((_, source)) = self.sources.iter().find(|(on, _)| *on == listen.on) {
                paper.curve(source.right(), source.middle(), card.x, card.head(), class, true);
            }
            if let Some(function) = self.functions.get(listen.fires) {
                paper.curve(card.right(), card.head(), function.x, function.head(), class, true);
            }
        }
        for (lane, (from, to, row)) in self.calls.iter().enumerate() {
            if let (Some(caller), Some(called)) = (self.functions.get(*from), self.functions.get(*to)) {
                let lane = f64::from(u32::try_from(lane).unwrap_or(u32::MAX)) * LANE;
                paper.bracket(caller.x, caller.row(*row), called.head() + 12.0, caller.x - 26.0 - lane, "line fire");
            }
        }
        for (function, card) in self.graph.functions.iter().zip(&self.functions) {
            for (row, effect) in function.effects.iter().enumerate() {
                let Some((system, place)) = self.place_of(effect.on) else { continue };
                let (x, y) = (card.right(), card.row(row));
                let class = self.class(effect);
                paper.curve(x, y, system.x, system.row(place), class, effect.verb.changes());
            }
        }
    }

    /// A wait is ended by a change of what it watches: back from the system.
    fn waits(&self, paper: &mut Paper) {
        for (function, card) in self.graph.functions.iter().zip(&self.functions) {
            let first = function.effects.len() + function.calls.len();
            let row = function.awaits.iter().position(|wait| wait.starts_with("FIRST")).map_or(first, |at| first + at);
            for waits in &function.waits {
                if let Waits::Record(on) = waits
                    && let Some((system, place)) = self.place_of(*on)
                {
                    paper.curve(system.x, system.row(place), card.right() + 7.0, card.row(row), "line fire", false);
                    paper.tip_left(card.right(), card.row(row), "line fire");
                }
            }
        }
    }

    fn dots(&self, paper: &mut Paper) {
        for (function, card) in self.graph.functions.iter().zip(&self.functions) {
            for (row, effect) in function.effects.iter().enumerate() {
                paper.dot(card.right(), card.row(row), self.class(effect));
            }
        }
    }

    fn class(&self, effect: &Effect) -> &'static str {
        if !effect.verb.changes() {
            "line read"
        } else if self.graph.loops.iter().any(|circle| circle.types.contains(&effect.on)) {
            "line loop"
        } else {
            "line write"
        }
    }

    /// The card and the row of a type among the systems.
    fn place_of(&self, on: usize) -> Option<(&Card, usize)> {
        let connection = self.graph.types.get(on)?.connection;
        let (_, card) = self.systems.iter().find(|(system, _)| *system == connection)?;
        card.rows.place_of(on).map(|place| (card, place))
    }

    /// The meaning of the lines, and each circle in words. Gives where it ends.
    fn footer(&self, y: f64, paper: &mut Paper) -> f64 {
        let kinds = self.graph.functions.iter().flat_map(|function| &function.effects);
        let writes = kinds.clone().any(|effect| effect.verb.changes());
        let reads = kinds.clone().any(|effect| !effect.verb.changes());
        let entries = [
            ("line fire", "fires, calls, wakes", !self.listens.is_empty() || !self.calls.is_empty()),
            ("line read", "reads", reads),
            ("line write", "writes", writes),
            ("line loop", "goes round", !self.graph.loops.is_empty()),
        ];
        let mut x = MARGIN;
        for (class, word, shown) in entries {
            if shown {
                paper.curve(x, y, x + 34.0, y, class, class != "line read");
                paper.text(x + 44.0, y + 4.0, "dim", word);
                x += 44.0 + paper::wide(word) + 28.0;
            }
        }
        let mut y = y + 6.0;
        for circle in &self.graph.loops {
            y += 21.0;
            paper.text(MARGIN, y, "looptext", &format!("\u{21bb} {}", self.graph.loop_text(circle)));
        }
        y
    }

    /// The picture in a sentence, for who cannot see it.
    fn says(&self) -> String {
        let count = |count: usize, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
        format!(
            "{}, {}, {}",
            count(self.graph.listens.len(), "listen"),
            count(self.graph.functions.len(), "function"),
            count(self.graph.connections.len(), "system")
        )
    }
}

/// Functions as they are fired, each before what it calls.
fn order(graph: &Graph) -> Vec<FunctionIndex> {
    let mut order = Vec::new();
    let mut open: Vec<FunctionIndex> = (0..graph.functions.len()).rev().collect();
    open.extend(graph.listens.iter().rev().map(|listen| listen.fires));
    while let Some(index) = open.pop() {
        if !order.contains(&index) {
            order.push(index);
            if let Some(function) = graph.functions.get(index) {
                open.extend(function.calls.iter().rev());
            }
        }
    }
    order
}

/// The listened types, each as high as its first listen.
fn sources(graph: &Graph, listens: &[Card]) -> Vec<(usize, Card)> {
    let mut sources: Vec<(usize, Card)> = Vec::new();
    for (listen, card) in graph.listens.iter().zip(listens) {
        if !sources.iter().any(|(on, _)| *on == listen.on) {
            let mut source = cards::source(graph, listen.on);
            source.y = (card.head() - source.height / 2.0).max(TOP);
            sources.push((listen.on, source));
        }
    }
    sources.sort_by(|(_, one), (_, other)| one.y.total_cmp(&other.y));
    spread(sources.iter_mut().map(|(_, card)| card));
    sources
}

/// The systems that are read or written, each as high as what touches it.
fn systems(graph: &Graph, functions: &[Card]) -> Vec<(usize, Card)> {
    let touched = |on: usize| {
        let mut heights = Vec::new();
        for (function, card) in graph.functions.iter().zip(functions) {
            for (row, effect) in function.effects.iter().enumerate() {
                if effect.on == on {
                    heights.push(card.row(row));
                }
            }
        }
        let count = f64::from(u32::try_from(heights.len()).unwrap_or(u32::MAX));
        (!heights.is_empty()).then(|| heights.iter().sum::<f64>() / count)
    };
    let mut systems = Vec::new();
    for place in 0..graph.connections.len() {
        let mut types: Vec<(usize, f64)> = graph
            .types
            .iter()
            .enumerate()
            .filter(|(_, ty)| ty.connection == place)
            .filter_map(|(on, _)| touched(on).map(|height| (on, height)))
            .collect();
        types.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let Some((_, first)) = types.first() else { continue };
        let rows: Vec<_> = types.iter().map(|(on, _)| *on).collect();
        let mut card = cards::system(graph, place, rows);
        let middle =
            types.iter().map(|(_, height)| height).sum::<f64>() / f64::from(u32::try_from(types.len()).unwrap_or(1));
        card.y = (middle.max(*first) - card.height / 2.0).max(TOP);
        systems.push((place, card));
    }
    systems.sort_by(|(_, one), (_, other)| (one.y + one.height / 2.0).total_cmp(&(other.y + other.height / 2.0)));
    spread(systems.iter_mut().map(|(_, card)| card));
    systems
}

/// Cards of one column, in their order, none upon another.
fn spread<'c>(cards: impl Iterator<Item = &'c mut Card>) {
    let mut free = TOP;
    for card in cards {
        card.y = card.y.max(free);
        free = card.y + card.height + GAP;
    }
}

/// Puts the cards of a column at one place, all as wide as the widest. Gives where the next column begins.
fn column<'c>(cards: impl Iterator<Item = &'c mut Card>, x: f64, street: f64) -> f64 {
    let cards: Vec<_> = cards.collect();
    if cards.is_empty() {
        return x;
    }
    let width = cards.iter().map(|card| card.width).fold(0.0, f64::max);
    for card in cards {
        card.x = x;
        card.width = width;
    }
    x + width + street
}

impl Rows {
    fn place_of(&self, on: usize) -> Option<usize> {
        match self {
            Self::Types(types) => types.iter().position(|(index, _)| *index == on),
            Self::Lines(_) | Self::Effects(_) => None,
        }
    }
}
