//! Expressions of a plan as text, near to how an author writes them.

use lf_module::{json, value::Value};

use crate::{
    check::typed::{Builtin, Op as Operator},
    plan::{
        ir::{Expr, ExprId, Function, Item, Op, Plan, RecordItem, Slot},
        words,
    },
    run,
};

/// What a listen's condition returns.
pub(in crate::plan) fn condition(plan: &Plan, filter: &Function) -> String {
    let last = filter.blocks.first().and_then(|block| block.0.last()).map(|step| &step.op);
    let Some(Op::Return(Some(value))) = last else { return String::new() };
    Writer { plan, function: Some(filter) }.expr(*value)
}

pub(super) struct Writer<'p> {
    pub(super) plan: &'p Plan,
    pub(super) function: Option<&'p Function>,
}

impl Writer<'_> {
    pub(super) fn slot(&self, slot: Slot) -> String {
        let params = self.function.map(|function| function.params.as_slice()).unwrap_or_default();
        let named = params.iter().find(|param| param.slot == slot);
        named.map_or_else(|| format!("${}", slot.0), |param| param.name.to_string())
    }

    pub(super) fn list(&self, ids: &[ExprId]) -> String {
        ids.iter().map(|id| self.expr(*id)).collect::<Vec<_>>().join(", ")
    }

    /// INVARIANT: recursion is bounded by the nesting that the parser admits.
    pub(super) fn expr(&self, id: ExprId) -> String {
        let Some(expr) = self.plan.expr(id) else { return "?".to_owned() };
        match expr {
            Expr::Literal(Value::Absent) => "null".to_owned(),
            Expr::Literal(Value::Duration(length)) => run::duration_text(*length),
            Expr::Literal(value) => json::plain(value),
            Expr::Slot(slot) => self.slot(*slot),
            Expr::Constant(index) => {
                self.plan.constants.get(*index as usize).map_or("?", |constant| constant.name.as_str()).to_owned()
            }
            Expr::Field(field) => {
                let base = self.expr(field.base);
                if base.is_empty() { field.name.to_string() } else { format!("{base}.{}", field.name) }
            }
            Expr::Interpolate(parts) => {
                let mut out = String::from("\"");
                for part in parts {
                    if let Some(Expr::Literal(Value::Text(text))) = self.plan.expr(*part) {
                        let quoted = json::plain(&Value::Text(text.clone()));
                        let inner = quoted.strip_prefix('"').and_then(|quoted| quoted.strip_suffix('"'));
                        out.push_str(inner.unwrap_or_default());
                    } else {
                        out.push_str("${");
                        out.push_str(&self.expr(*part));
                        out.push('}');
                    }
                }
                out.push('"');
                out
            }
            Expr::Not(operand) => format!("NOT {}", self.nested(*operand)),
            Expr::Negate(operand) => format!("-{}", self.nested(*operand)),
            Expr::Binary { op, left, right } => {
                format!("{} {} {}", self.nested(*left), operator(*op), self.nested(*right))
            }
            Expr::Is { operand, ty } => format!("{} IS <{}>", self.nested(*operand), self.ty(ty)),
            Expr::As { operand, ty } => format!("{} AS <{}>", self.nested(*operand), self.ty(ty)),
            Expr::Present(operand) | Expr::Lands(operand) => format!("EXISTS {}", self.nested(*operand)),
            Expr::One { list, optional, on: _ } => {
                format!("{}({})", if *optional { "one or none of " } else { "the one of " }, self.expr(*list))
            }
            Expr::If { arms, otherwise } => {
                let arms: Vec<_> = arms
                    .iter()
                    .map(|(condition, value)| format!("IF {} THEN {}", self.expr(*condition), self.expr(*value)))
                    .collect();
                format!("{} ELSE {} END", arms.join(" ELSE "), self.expr(*otherwise))
            }
            Expr::List(items) => {
                let items = items.iter().map(|item| match item {
                    Item::One(value) => self.expr(*value),
                    Item::Spread(value) => format!("...{}", self.expr(*value)),
                });
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Expr::Record(items) => {
                let items = items.iter().map(|item| match item {
                    RecordItem::Field(name, value) => format!("{name}: {}", self.expr(*value)),
                    RecordItem::Spread(value) => format!("...{}", self.expr(*value)),
                });
                format!("{{ {} }}", items.collect::<Vec<_>>().join(", "))
            }
            Expr::Builtin { builtin, args } => format!("{}({})", builtin_name(*builtin), self.list(args)),
        }
    }

    fn nested(&self, id: ExprId) -> String {
        let text = self.expr(id);
        if matches!(self.plan.expr(id), Some(Expr::Binary { .. } | Expr::Not(_) | Expr::Is { .. } | Expr::As { .. })) {
            format!("({text})")
        } else {
            text
        }
    }

    fn ty(&self, ty: &crate::types::Ty) -> String {
        words::ty(ty, &|on| self.plan.path_of(on))
    }
}

/// An operator as an author writes it.
pub(crate) fn operator(op: Operator) -> &'static str {
    match op {
        Operator::Or => "OR",
        Operator::And => "AND",
        Operator::Equal => "==",
        Operator::NotEqual => "!=",
        Operator::Less => "<",
        Operator::LessEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterEqual => ">=",
        Operator::In => "IN",
        Operator::Contains => "CONTAINS",
        Operator::Within => "WITHIN",
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Remainder => "%",
    }
}

/// A built-in as an author writes it.
pub(crate) fn builtin_name(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Trim => "TRIM",
        Builtin::Lower => "LOWER",
        Builtin::Upper => "UPPER",
        Builtin::Length => "LENGTH",
        Builtin::Split => "SPLIT",
        Builtin::Join => "JOIN",
        Builtin::Replace => "REPLACE",
        Builtin::Slice => "SLICE",
        Builtin::Slug => "SLUG",
        Builtin::Starts => "STARTS",
        Builtin::Ends => "ENDS",
        Builtin::Match => "MATCH",
        Builtin::Text => "TEXT",
        Builtin::Lines => "LINES",
        Builtin::Abs => "ABS",
        Builtin::Floor => "FLOOR",
        Builtin::Ceil => "CEIL",
        Builtin::Round => "ROUND",
        Builtin::Number => "NUMBER",
        Builtin::Now => "NOW",
        Builtin::Today => "TODAY",
        Builtin::Date => "DATE",
        Builtin::Datetime => "DATETIME",
        Builtin::Format => "FORMAT",
        Builtin::AtTime => "AT_TIME",
        Builtin::Duration => "DURATION",
        Builtin::Count => "COUNT",
        Builtin::Sum => "SUM",
        Builtin::Avg => "AVG",
        Builtin::Min => "MIN",
        Builtin::Max => "MAX",
        Builtin::First => "FIRST",
        Builtin::Last => "LAST",
        Builtin::Only => "ONLY",
        Builtin::At => "AT",
        Builtin::Sort | Builtin::SortBy => "SORT",
        Builtin::GroupBy => "GROUP",
        Builtin::Distinct => "DISTINCT",
        Builtin::Flat => "FLAT",
        Builtin::Range => "RANGE",
        Builtin::Keys => "KEYS",
        Builtin::Json => "JSON",
        Builtin::Parse => "PARSE",
        Builtin::Print => "PRINT",
        Builtin::Hash => "HASH",
        Builtin::Url => "URL",
        Builtin::Encode => "ENCODE",
        Builtin::Coalesce => "COALESCE",
    }
}
