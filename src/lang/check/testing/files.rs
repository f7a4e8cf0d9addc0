//! Files as a test states them: a record with what a file is known by and what it holds. No system is there to have one.

use lf_module::{FieldType, file::from_base64, schema::Field};

use crate::{
    check::{
        body::Body,
        typed::{Expr, ExprKind, Item, RecordItem},
    },
    diag::{Diagnostic, codes},
    stated,
    types::{Kind, Ty},
};

/// A value of a test's record.
pub(super) enum Stated {
    /// A record that states a file, or a list of such.
    File(Expr),
    Other(Expr),
}

impl Body<'_, '_> {
    /// Where a file is wanted and a record is given, whether that states a file; `None` if it does not, which was
    /// reported.
    pub(super) fn stated_file(&mut self, field: &Field, value: Expr) -> Option<Stated> {
        let listed = matches!(&field.ty, FieldType::List(item) if **item == FieldType::File);
        if field.ty != FieldType::File && !field.takes_file && !listed {
            return Some(Stated::Other(value));
        }
        if let (ExprKind::Record(_), false) = (&value.kind, listed) {
            self.states_file(&value)?;
            return Some(Stated::File(value));
        }
        let (ExprKind::List(items), true) = (&value.kind, listed) else { return Some(Stated::Other(value)) };
        let each = items.iter().map(|item| match item {
            Item::One(item) => item,
            Item::Spread(list) => list,
        });
        let records: Vec<&Expr> = each.filter(|item| matches!(item.kind, ExprKind::Record(_))).collect();
        if records.is_empty() || records.len() != items.len() {
            return Some(Stated::Other(value));
        }
        for record in records {
            self.states_file(record)?;
        }
        Some(Stated::File(value))
    }

    fn states_file(&mut self, record: &Expr) -> Option<()> {
        let ExprKind::Record(items) = &record.kind else { return None };
        let mut held = 0;
        for item in items {
            let RecordItem::Field(name, value) = item else {
                self.not_a_file(record, "a file is written out: nothing is spread into it");
                return None;
            };
            if !stated::FIELDS.contains(&name.as_str()) {
                self.not_a_file(record, &format!("a file has no `{name}`"));
                return None;
            }
            if value.ty.kind() != Kind::Text || value.ty.may_be_absent() {
                self.not_a_file(record, &format!("the `{name}` of a file is text"));
                return None;
            }
            held += usize::from(matches!(name.as_str(), "text" | "base64"));
            if name == "base64" && value.ty.known_text().is_some_and(|text| from_base64(text).is_none()) {
                self.not_a_file(record, "this `base64` is none");
                return None;
            }
            if value.ty.known_text().is_some_and(|text| text.len() > stated::MOST * 2) {
                self.not_a_file(record, &format!("it holds more than {} bytes", stated::MOST));
                return None;
            }
        }
        if held == 1 {
            return Some(());
        }
        self.not_a_file(record, if held == 0 { "what the file holds is missing" } else { "a file holds one thing" });
        None
    }

    fn not_a_file(&mut self, record: &Expr, why: &str) {
        self.report(
            Diagnostic::error(codes::MOV_TEST_FILE, record.span, format!("this states no file: {why}"))
                .label(self.show(&Ty::File))
                .help("write `{ name: \"a.txt\", media_type: \"text/plain\", text: \"hello\" }`, or `base64:` for other bytes"),
        );
    }
}
