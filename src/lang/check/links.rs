//! `link`, `unlink` and the record that a path's last edge starts at.

use super::{
    body::Body,
    hops,
    typed::{Expr, StatementKind},
};
use crate::{
    diag::{Diagnostic, codes},
    syntax::ast::{self, ExprKind},
};

impl Body<'_, '_> {
    pub(super) fn link(&mut self, join: bool, path: &ast::Path, to: &ast::Expr) -> Option<StatementKind> {
        let verb = if join { "linked" } else { "unlinked" };
        let from = self.owner(path);
        let to = self.record_of(to, verb);
        let (from, last) = from?;
        let on = from.ty.described()?.clone();
        let (target, ..) = hops::edge_of(self.cx, &on, &last.edge)?;
        if !self.cx.graph.shape(&on)?.edge(&last.edge.text).is_some_and(|edge| edge.linkable) {
            self.report(
                Diagnostic::error(
                    codes::MOV_LINK_NOT_LINKABLE,
                    last.edge.span,
                    format!("records cannot be {verb} by the edge `{}`", last.edge.text),
                )
                .label("the system has no request for it"),
            );
            return None;
        }
        let to = to?;
        if to.ty.described() != Some(&target) {
            let (wanted, found) = (self.cx.graph.show_position(&target), self.show(&to.ty));
            self.report(
                Diagnostic::error(
                    codes::MOV_LINK_TARGET,
                    to.span,
                    format!("`{}` leads to `{wanted}`, and this is `{found}`", last.edge.text),
                )
                .label(found),
            );
            return None;
        }
        Some(StatementKind::Link { join, from, edge: last.edge.text.clone(), to })
    }

    /// The record that the last hop starts at, and that hop, which only names its edge.
    pub(super) fn owner<'p>(&mut self, path: &'p ast::Path) -> Option<(Expr, &'p ast::Hop)> {
        let (last, before) = path.hops.split_last()?;
        if let Some(span) = super::writes::extra(last) {
            self.report(
                Diagnostic::error(codes::MOV_WRITE_TARGET, span, "the last edge is only named here")
                    .label("belongs to a read")
                    .help("keep the name of the edge alone"),
            );
            return None;
        }
        let head = path.head.clone();
        let kind = match before.last() {
            None => ExprKind::Name(head),
            Some(hop) => {
                let span = path.head.span.to(hop.span);
                ExprKind::Path(ast::Path { span, head, hops: before.to_vec() })
            }
        };
        let span = before.last().map_or(path.head.span, |hop| path.head.span.to(hop.span));
        let owner = self.record_of(&ast::Expr { span, kind }, "started from")?;
        Some((owner, last))
    }
}
