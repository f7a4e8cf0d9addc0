//! Tests: the values of each line become a hidden function of the plan that gives them back as one list.

use super::{Body, Shared};
use crate::{
    check::typed::{Expr, ExprKind, Item, Test as Typed, TestLine},
    plan::{
        ir::{Function, FunctionIndex, Op},
        testing::{Line, Test},
    },
    types::Ty,
};

pub(super) fn test(shared: &mut Shared<'_>, functions: &mut Vec<Function>, test: &Typed) -> Test {
    let lines = test.lines.iter().map(|line| self::line(shared, functions, line)).collect();
    Test { span: test.span, name: test.name.clone(), at: test.at, reach: test.reach.clone(), lines }
}

fn line(shared: &mut Shared<'_>, functions: &mut Vec<Function>, line: &TestLine) -> Line {
    let place = shared.places.id(line.span, "");
    let mut body = Body::new(shared, line.locals);
    let items = line.values.iter().cloned().map(Item::One).collect();
    // INVARIANT: nothing asks for the type of what a function gives to the test that it belongs to.
    let list = Expr { ty: Ty::EmptyList, span: line.span, kind: ExprKind::List(items) };
    let list = body.expr(&list);
    body.step(place, Op::Return(Some(list)));
    let (slots, blocks) = body.finish();
    let index = functions.len();
    let name = "a line of a test".into();
    functions.push(Function { name, hidden: true, place, params: Vec::new(), returns: None, slots, blocks });
    let values = FunctionIndex(u32::try_from(index).unwrap_or(u32::MAX));
    Line { span: line.span, kind: line.kind.clone(), values }
}
