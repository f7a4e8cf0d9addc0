//! The layout of types.

use super::{Layout, doc::Doc, lists::Row};
use crate::syntax::ast::{TypeExpr, TypeKind};

impl Layout<'_> {
    /// `<T>`
    pub(super) fn type_ref(&mut self, ty: &TypeExpr) -> Doc {
        let comments = self.before(ty.span.start);
        let inside = self.ty(ty);
        Doc::Many(vec![comments, Doc::text("<"), inside, Doc::text(">")])
    }

    fn ty(&mut self, ty: &TypeExpr) -> Doc {
        match &ty.kind {
            TypeKind::Name(name) => {
                let comments = self.before(name.span.start);
                Doc::Many(vec![comments, self.name(name)])
            }
            TypeKind::Choice(texts) => {
                let members = texts.iter().map(|text| {
                    let comments = self.before(text.span.start);
                    Doc::Many(vec![comments, Doc::text(self.file.slice(text.span))])
                });
                union(members.collect())
            }
            TypeKind::List(inner) => {
                let inner = self.member(inner);
                Doc::Many(vec![inner, Doc::text("[]")])
            }
            TypeKind::Record(fields) => {
                let comments = self.before(ty.span.start);
                let record = self.row(
                    Row::Braces,
                    ("{", "}"),
                    fields,
                    ty.span.end,
                    |(name, _)| name.span.start,
                    |layout, (name, ty)| {
                        let name = layout.name(name);
                        let ty = layout.ty(ty);
                        Doc::Many(vec![name, Doc::text(": "), ty])
                    },
                );
                Doc::Many(vec![comments, record])
            }
            TypeKind::OrAbsent(inner) => {
                let nested = matches!(inner.kind, TypeKind::OrAbsent(_) | TypeKind::Union(_));
                let inner = if nested { self.member(inner) } else { self.ty(inner) };
                Doc::Many(vec![inner, Doc::text(" | absent")])
            }
            TypeKind::Absent => Doc::text("absent"),
            TypeKind::Position(path) => self.path(path),
            TypeKind::Union(members) => union(members.iter().map(|member| self.member(member)).collect()),
            TypeKind::Bad => Doc::text(self.file.slice(ty.span)),
        }
    }

    /// A type where only one may stand: a union needs parentheses there.
    fn member(&mut self, ty: &TypeExpr) -> Doc {
        let several = match &ty.kind {
            TypeKind::Choice(texts) => texts.len() > 1,
            TypeKind::OrAbsent(_) | TypeKind::Union(_) => true,
            TypeKind::Name(_)
            | TypeKind::List(_)
            | TypeKind::Record(_)
            | TypeKind::Absent
            | TypeKind::Position(_)
            | TypeKind::Bad => false,
        };
        let inner = self.ty(ty);
        if several { Doc::Many(vec![Doc::text("("), inner, Doc::text(")")]) } else { inner }
    }
}

/// `a | b`; a broken line ends with `|`.
fn union(members: Vec<Doc>) -> Doc {
    let mut parts = Vec::new();
    for member in members {
        if !parts.is_empty() {
            parts.extend([Doc::text(" |"), Doc::Line]);
        }
        parts.push(member);
    }
    Doc::group(vec![Doc::indent(parts)])
}
