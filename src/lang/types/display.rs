//! How a type is written to a person: as they would write it themselves.

use super::{ConnectionId, Ty, TypeRef};

/// More members than this are counted, not listed.
const LISTED: usize = 6;

/// The type as text; `connection` gives a connection's name.
#[must_use]
pub fn show(ty: &Ty, connection: &dyn Fn(ConnectionId) -> String) -> String {
    match ty {
        Ty::Text
        | Ty::Number
        | Ty::Boolean
        | Ty::Date
        | Ty::Datetime
        | Ty::Duration
        | Ty::Json
        | Ty::File
        | Ty::Absent => ty.kind().word().to_owned(),
        Ty::Change => "change".to_owned(),
        Ty::EmptyList => "an empty list".to_owned(),
        Ty::Choice(members) if members.len() > LISTED => format!("a choice of {} texts", members.len()),
        Ty::Choice(members) => members.iter().map(|member| format!("{member:?}")).collect::<Vec<_>>().join(" | "),
        Ty::List(item) if matches!(item.as_ref(), Ty::Optional(_)) || is_wide_choice(item) => {
            format!("({})[]", show(item, connection))
        }
        Ty::List(item) => format!("{}[]", show(item, connection)),
        Ty::Record(fields) => {
            let fields: Vec<_> = fields.iter().map(|(name, ty)| format!("{name}: {}", show(ty, connection))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Ty::Position(of) | Ty::Handle(of) => position(of, connection),
        Ty::Optional(inner) => format!("{} | absent", show(inner, connection)),
    }
}

/// `crm-[:Company]->`
#[must_use]
pub fn position(of: &TypeRef, connection: &dyn Fn(ConnectionId) -> String) -> String {
    format!("{}-[:{}]->", connection(of.connection), of.ty)
}

fn is_wide_choice(ty: &Ty) -> bool {
    matches!(ty, Ty::Choice(members) if members.len() > 1)
}
