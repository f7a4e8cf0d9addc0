//! How a plan names things to people: types, and the parts of an address.

use crate::types::{Ty, TypeRef};

/// A type as an author writes it; `path` writes a described type.
pub(super) fn ty(ty: &Ty, path: &dyn Fn(&TypeRef) -> String) -> String {
    match ty {
        Ty::Text => "text".to_owned(),
        Ty::Number => "number".to_owned(),
        Ty::Boolean => "boolean".to_owned(),
        Ty::Date => "date".to_owned(),
        Ty::Datetime => "datetime".to_owned(),
        Ty::Duration => "duration".to_owned(),
        Ty::Json => "json".to_owned(),
        Ty::File => "file".to_owned(),
        Ty::Choice(members) => members.iter().map(|member| format!("\"{member}\"")).collect::<Vec<_>>().join(" | "),
        Ty::List(inner) => match inner.as_ref() {
            Ty::Optional(_) | Ty::Choice(_) => format!("({})[]", self::ty(inner, path)),
            Ty::Text
            | Ty::Number
            | Ty::Boolean
            | Ty::Date
            | Ty::Datetime
            | Ty::Duration
            | Ty::Json
            | Ty::File
            | Ty::List(_)
            | Ty::Record(_)
            | Ty::Position(_)
            | Ty::Handle(_)
            | Ty::Change
            | Ty::Absent
            | Ty::EmptyList => format!("{}[]", self::ty(inner, path)),
        },
        Ty::Record(fields) => {
            let fields: Vec<_> = fields.iter().map(|(name, ty)| format!("{name}: {}", self::ty(ty, path))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Ty::Position(on) | Ty::Handle(on) => path(on),
        Ty::Change => "change".to_owned(),
        Ty::Optional(inner) => format!("{} | absent", self::ty(inner, path)),
        Ty::Absent => "absent".to_owned(),
        Ty::EmptyList => "[]".to_owned(),
    }
}
