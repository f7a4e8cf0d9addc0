//! Which type fits where, and what two types have in common. Knows nothing of places or messages.

use smol_str::SmolStr;

use super::{Ty, TypeRef};

/// A joined choice with more members than this is plain text: nobody means such a set.
const WIDEST_JOIN: usize = 256;

/// The fields of described types, as far as relating types needs them.
pub trait Graph {
    /// The type of a field that can be read off a record of `of`, or off the handle of a write to it.
    fn field(&self, of: &TypeRef, handle: bool, name: &str) -> Option<Ty>;
}

/// Whether every value of `from` is a value of `to`.
pub fn fits(from: &Ty, to: &Ty, graph: &dyn Graph) -> bool {
    if let Ty::Optional(wanted) = to {
        return match from {
            Ty::Absent => true,
            Ty::Optional(given) => fits(given, wanted, graph),
            Ty::Text
            | Ty::Number
            | Ty::Boolean
            | Ty::Date
            | Ty::Datetime
            | Ty::Duration
            | Ty::Json
            | Ty::File
            | Ty::Choice(_)
            | Ty::List(_)
            | Ty::Record(_)
            | Ty::Position(_)
            | Ty::Handle(_)
            | Ty::Change
            | Ty::EmptyList => fits(from, wanted, graph),
        };
    }
    match (from, to) {
        (Ty::Choice(_), Ty::Text) => true,
        (Ty::Choice(given), Ty::Choice(wanted)) => given.iter().all(|member| wanted.contains(member)),
        (Ty::List(given), Ty::List(wanted)) => fits(given, wanted, graph),
        (Ty::EmptyList, Ty::List(_)) => true,
        (Ty::Record(given), Ty::Record(wanted)) => wanted.iter().all(|(name, ty)| {
            given.iter().find(|(other, _)| other == name).is_some_and(|(_, other)| fits(other, ty, graph))
        }),
        (Ty::Position(of), Ty::Record(wanted)) => described_fits(of, false, wanted, graph),
        (Ty::Handle(of), Ty::Record(wanted)) => described_fits(of, true, wanted, graph),
        (Ty::Change, Ty::Record(wanted)) => {
            wanted.iter().all(|(name, ty)| change_field(name).is_some_and(|given| fits(&given, ty, graph)))
        }
        // A handle holds what the system answered and can be walked, so it stands where its record does.
        (Ty::Handle(given), Ty::Position(wanted)) => given == wanted,
        (given, wanted) => given == wanted,
    }
}

fn described_fits(of: &TypeRef, handle: bool, wanted: &[(SmolStr, Ty)], graph: &dyn Graph) -> bool {
    wanted.iter().all(|(name, ty)| graph.field(of, handle, name).is_some_and(|given| fits(&given, ty, graph)))
}

/// The narrowest type that both fit, if there is one.
pub fn join(left: &Ty, right: &Ty, graph: &dyn Graph) -> Option<Ty> {
    if left == right || fits(right, left, graph) {
        return Some(left.clone());
    }
    if fits(left, right, graph) {
        return Some(right.clone());
    }
    match (left, right) {
        (Ty::Absent, other) | (other, Ty::Absent) => Some(other.clone().optional()),
        (Ty::Optional(inner), other) | (other, Ty::Optional(inner)) => {
            join(inner, other.present()?, graph).map(Ty::optional)
        }
        (Ty::Choice(one), Ty::Choice(two)) => {
            let mut members = one.clone();
            members.extend(two.iter().filter(|member| !one.contains(member)).cloned());
            Some(if members.len() > WIDEST_JOIN { Ty::Text } else { Ty::Choice(members) })
        }
        (Ty::List(one), Ty::List(two)) => Some(Ty::List(Box::new(join(one, two, graph)?))),
        (Ty::Record(one), Ty::Record(two)) if one.len() == two.len() => one
            .iter()
            .map(|(name, ty)| {
                let (_, other) = two.iter().find(|(other, _)| other == name)?;
                Some((name.clone(), join(ty, other, graph)?))
            })
            .collect::<Option<Vec<_>>>()
            .map(Ty::Record),
        (_, _) => None,
    }
}

/// The fields of a change.
#[must_use]
pub fn change_field(name: &str) -> Option<Ty> {
    CHANGE_FIELDS.contains(&name).then(|| match name {
        "kind" => Ty::Choice(vec!["created".into(), "updated".into(), "deleted".into()]),
        "fields" => Ty::List(Box::new(Ty::Text)),
        "before" => Ty::Json.optional(),
        "at" => Ty::Datetime,
        _ => Ty::Text.optional(),
    })
}

/// The names of the fields of a change; the last one is `by`.
pub const CHANGE_FIELDS: [&str; 5] = ["kind", "fields", "before", "at", "by"];

/// What can be read off a file.
#[must_use]
pub fn file_field(name: &str) -> Option<Ty> {
    FILE_FIELDS.contains(&name).then(|| match name {
        "size" => Ty::Number,
        _ => Ty::Text.optional(),
    })
}

/// The names of what can be read off a file; all but `size` may be absent.
pub const FILE_FIELDS: [&str; 3] = ["name", "media_type", "size"];

/// Whether a file is a part of such a value, so that it is no data.
#[must_use]
pub fn holds_file(ty: &Ty) -> bool {
    match ty {
        Ty::File => true,
        Ty::List(inner) | Ty::Optional(inner) => holds_file(inner),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| holds_file(ty)),
        Ty::Text
        | Ty::Number
        | Ty::Boolean
        | Ty::Date
        | Ty::Datetime
        | Ty::Duration
        | Ty::Json
        | Ty::Choice(_)
        // Of another record it is a field of that: as data it is what is known of it.
        | Ty::Position(_)
        | Ty::Handle(_)
        | Ty::Change
        | Ty::Absent
        | Ty::EmptyList => false,
    }
}
