//! `expect link`, `expect unlink`: which records were joined, or taken apart, against those that a test names.

use lf_lang::{
    check::typed::{TestField, TestTie},
    diag::{Diagnostic, codes},
    source::Span,
};
use lf_module::{Key, Value, Write, call::Tie};

use super::{key_of, show};
use crate::testing::{
    Failure, Side,
    play::Play,
    world::{On, Sent},
};

/// What a line asks for.
pub(super) struct Wanted {
    join: bool,
    /// Any tie, if none is named.
    edge: Option<(On, String)>,
    from: Option<Key>,
    to: Option<Key>,
}

impl Wanted {
    /// The keys that are named come first of the line's values.
    pub(super) fn of(
        play: &Play<'_>,
        join: bool,
        tie: Option<&TestTie>,
        to: Option<&TestField>,
        values: &[Value],
    ) -> Self {
        let mut values = values.iter();
        let from = tie.and_then(|tie| tie.key.as_ref()).and_then(|_| values.next()).map(key_of);
        let to = to.and_then(|_| values.next()).map(key_of);
        Self { join, edge: tie.map(|tie| (play.on(&tie.on), tie.edge.to_string())), from, to }
    }

    fn of_edge<'s>(&self, sent: &'s Sent) -> Option<&'s Tie> {
        let tie = match &sent.write {
            Write::Link(tie) if self.join => tie,
            Write::Unlink(tie) if !self.join => tie,
            Write::Link(_) | Write::Unlink(_) | Write::Create { .. } | Write::Update { .. } | Write::Delete { .. } => {
                return None;
            }
        };
        self.edge.as_ref().is_none_or(|(on, edge)| *on == sent.on && *edge == tie.edge).then_some(tie)
    }

    pub(super) fn fits(&self, sent: &Sent) -> bool {
        let same = |wanted: &Option<Key>, key: &Key| wanted.as_ref().is_none_or(|wanted| wanted == key);
        self.of_edge(sent).is_some_and(|tie| same(&self.from, &tie.key) && same(&self.to, &tie.to))
    }
}

/// Judges a line that expects a tie.
pub(super) fn expected(play: &mut Play<'_>, at: Span, wanted: &Wanted) {
    let sent = play.world.state().sent.clone();
    let mut others = Vec::new();
    for (index, sent) in sent.iter().enumerate() {
        if play.told.contains(&index) {
            continue;
        }
        if wanted.fits(sent) {
            play.told.insert(index);
            return;
        }
        others.extend(wanted.of_edge(sent).map(|tie| (index, tie.clone())));
    }
    let done = if wanted.join { "linked" } else { "unlinked" };
    let report = Diagnostic::error(codes::MOV_TEST_FAILED, at, format!("this was not {done}")).label("expected");
    let report = super::still_waiting(play, report);
    let other = others.into_iter().next();
    let side = |what: &str, wanted: &Option<Key>, actual: Option<&Key>| Side {
        what: what.to_owned(),
        expected: wanted.as_ref().map(shown),
        actual: actual.map(shown),
        differs: wanted.as_ref() != actual,
    };
    let mut sides = Vec::new();
    if wanted.from.is_some() || other.is_some() {
        sides.push(side("from", &wanted.from, other.as_ref().map(|(_, tie)| &tie.key)));
    }
    if wanted.to.is_some() || other.is_some() {
        sides.push(side("to", &wanted.to, other.as_ref().map(|(_, tie)| &tie.to)));
    }
    // One mistake, one report.
    play.told.extend(other.map(|(index, _)| index));
    play.failures.push(Failure { report, sides });
}

fn shown(key: &Key) -> String {
    show::value(&Value::Text(key.0.clone()))
}
