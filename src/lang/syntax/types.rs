//! Pairs to types. Whether a type exists is the checker's to say.
#![expect(clippy::wildcard_enum_match_arm, reason = "the grammar's rules are many; each function reads a few of them")]

use super::{
    ast::{Name, Plain, TypeExpr, TypeKind},
    pairs::{Children, Node, Reader, Rule},
};
use crate::{
    diag::{Diagnostic, Fix, codes},
    source::Span,
};

/// How many `[]` one type may have.
const MOST_LISTS: usize = 16;

impl Reader<'_> {
    /// `<T>`, or `T` where the brackets were forgotten.
    pub(super) fn type_ref(&mut self, node: Node<'_>) -> TypeExpr {
        let span = self.span(&node);
        let bare = node.as_rule() == Rule::type_bare;
        if bare {
            let mut problem = Diagnostic::error(codes::MOV_PARSE_HABIT, span, "a type stands in angle brackets");
            let edits = vec![
                (Span { end: span.start, ..span }, "<".to_owned()),
                (Span { start: span.end, ..span }, ">".to_owned()),
            ];
            let says = format!("write `<{}>`", self.source(span));
            problem.fix = Some(Fix { says, edits });
            self.report(problem);
        }
        match Children::of(node).any() {
            Some(union) => {
                let ty = self.type_union(union);
                if bare { ty } else { TypeExpr { span, ..ty } }
            }
            None => TypeExpr { span, kind: TypeKind::Bad },
        }
    }

    fn type_union(&mut self, node: Node<'_>) -> TypeExpr {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let mut members = Vec::new();
        while let Some(member) = children.take(Rule::type_one) {
            members.push(self.type_one(member));
        }
        join(members, span)
    }

    fn type_one(&mut self, node: Node<'_>) -> TypeExpr {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let Some(base) = children.any() else { return TypeExpr { span, kind: TypeKind::Bad } };
        let base_span = self.span(&base);
        let kind = match base.as_rule() {
            Rule::type_path => {
                let mut parts = Children::of(base);
                let head = parts.take(Rule::word).map(|word| self.name(&word));
                head.map_or(TypeKind::Bad, |head| TypeKind::Position(self.path_from(head, parts, base_span).0))
            }
            Rule::text => self.plain(base).map_or(TypeKind::Bad, |plain| TypeKind::Choice(vec![plain])),
            Rule::type_record => TypeKind::Record(self.type_fields(base)),
            Rule::type_group => Children::of(base).any().map_or(TypeKind::Bad, |union| self.type_union(union).kind),
            _ => self.type_name(&base),
        };
        let mut ty = TypeExpr { span: base_span, kind };
        let mut height = 0;
        while let Some(list) = children.take(Rule::type_list) {
            height += 1;
            if height > MOST_LISTS {
                let problem = Diagnostic::error(
                    codes::MOV_PARSE_TOO_DEEP,
                    span,
                    format!("this type is a list of lists more than {MOST_LISTS} deep"),
                );
                self.report(problem);
                return TypeExpr { span, kind: TypeKind::Bad };
            }
            let whole = base_span.to(self.span(&list));
            ty = TypeExpr { span: whole, kind: TypeKind::List(Box::new(ty)) };
        }
        ty
    }

    fn type_name(&mut self, node: &Node<'_>) -> TypeKind {
        let name = self.name(node);
        match name.text.as_str() {
            "absent" => TypeKind::Absent,
            "null" | "undefined" | "None" | "nil" | "void" => {
                let problem = Diagnostic::error(
                    codes::MOV_PARSE_HABIT,
                    name.span,
                    format!("what may be missing is `| absent`, not `{}`", name.text),
                );
                self.report(problem.fix("write `absent`", name.span, "absent"));
                TypeKind::Absent
            }
            _ => TypeKind::Name(name),
        }
    }

    fn type_fields(&mut self, node: Node<'_>) -> Vec<(Name, TypeExpr)> {
        let mut children = Children::of(node);
        let mut fields = Vec::new();
        while let Some(field) = children.take(Rule::type_field) {
            let span = self.span(&field);
            let mut parts = Children::of(field);
            let Some(name) = parts.take(Rule::word).map(|word| self.name(&word)) else { continue };
            let optional = parts.take(Rule::habit_optional).map(|sign| self.span(&sign));
            let Some(mut ty) = parts.take(Rule::type_union).map(|union| self.type_union(union)) else { continue };
            if let Some(sign) = optional {
                let says = format!("write `{}: {} | absent`", name.text, self.source(ty.span));
                let mut problem =
                    Diagnostic::error(codes::MOV_PARSE_HABIT, sign, "what may be missing is `| absent`, not `?`");
                let edits =
                    vec![(sign, String::new()), (Span { start: ty.span.end, ..ty.span }, " | absent".to_owned())];
                problem.fix = Some(Fix { says, edits });
                self.report(problem);
                ty = TypeExpr { span, kind: TypeKind::OrAbsent(Box::new(ty)) };
            }
            fields.push((name, ty));
        }
        fields
    }
}

/// `"a" | "b"`, `T | absent`, or a union for the checker to refuse.
fn join(mut members: Vec<TypeExpr>, span: Span) -> TypeExpr {
    if members.len() == 1
        && let Some(only) = members.pop()
    {
        return only;
    }
    if members.iter().any(|member| member.kind == TypeKind::Bad) {
        return TypeExpr { span, kind: TypeKind::Bad };
    }
    let before = members.len();
    let mut present: Vec<_> = members.iter().filter(|member| member.kind != TypeKind::Absent).cloned().collect();
    let absent = before > present.len();
    let all_choices = present.iter().all(|member| matches!(member.kind, TypeKind::Choice(_)));
    let whole = present.iter().map(|member| member.span).reduce(Span::to).unwrap_or(span);
    let base = if present.len() == 1 {
        present.pop()
    } else if all_choices && !present.is_empty() {
        let texts: Vec<Plain> = present
            .into_iter()
            .flat_map(|member| if let TypeKind::Choice(texts) = member.kind { texts } else { Vec::new() })
            .collect();
        Some(TypeExpr { span: whole, kind: TypeKind::Choice(texts) })
    } else {
        None
    };
    match base {
        Some(base) if absent && before > 1 => TypeExpr { span, kind: TypeKind::OrAbsent(Box::new(base)) },
        Some(base) => base,
        None => TypeExpr { span, kind: TypeKind::Union(members) },
    }
}
