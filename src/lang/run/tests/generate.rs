//! Typed programs out of a row of bytes: every row gives one, a shorter row a simpler one.

use lf_module::schema::Count;

use super::build::*;
use crate::{
    check::typed::{
        Builtin, ClosureBody, Expr, ExprKind, Function, LocalId, Movement, Op, Path, PathStart, Statement,
        StatementKind, Through, Way,
    },
    types::Ty,
};

/// Functions of a program; each may call those after it.
const FUNCTIONS: u32 = 3;

pub(super) fn program(bytes: &[u8]) -> Movement {
    asking(bytes, Asks::Pins)
}

/// The same program with each pin as a test of its WHERE, done here.
pub(super) fn unpinned(bytes: &[u8]) -> Movement {
    asking(bytes, Asks::Nothing)
}

/// The same again, where such a test is also told to the source, which may look it up.
pub(super) fn looked_up(bytes: &[u8]) -> Movement {
    asking(bytes, Asks::Lookup)
}

/// What a source is told of the name that a hop fixes.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    Pins,
    Lookup,
    Nothing,
}

fn asking(bytes: &[u8], asks: Asks) -> Movement {
    let mut bytes = bytes.iter().copied();
    let functions = (0..FUNCTIONS).map(|index| {
        let mut maker =
            Maker { bytes: &mut bytes, asks, index, locals: 1, scope: vec![(0, Kind::Number)], statements: 0 };
        let mut body = maker.block(3);
        let result = maker.number(2);
        body.push(give(result));
        let locals = maker.locals;
        let mut made = function(&format!("f{index}"), &[("n", Ty::Number)], locals, body);
        made.returns = Some(Ty::Number);
        made
    });
    let functions: Vec<Function> = functions.collect();
    movement(functions)
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    Text,
    Person,
}

struct Maker<'b> {
    bytes: &'b mut dyn Iterator<Item = u8>,
    asks: Asks,
    index: u32,
    locals: u32,
    scope: Vec<(u32, Kind)>,
    statements: u32,
}

fn person() -> Ty {
    Ty::Position(on(CRM, "Person"))
}

impl Maker<'_> {
    fn pick(&mut self, ways: u8) -> u8 {
        self.bytes.next().unwrap_or(0) % ways
    }

    fn fresh(&mut self) -> u32 {
        self.locals += 1;
        self.locals - 1
    }

    fn known(&mut self, kind: Kind) -> Option<u32> {
        let fitting: Vec<_> = self.scope.iter().filter(|(_, known)| *known == kind).map(|(id, _)| *id).collect();
        let index = self.pick(8) as usize;
        fitting.get(index % fitting.len().max(1)).copied()
    }

    fn block(&mut self, depth: u8) -> Vec<Statement> {
        let outer = self.scope.len();
        let count = self.pick(4);
        let body = (0..count).map(|_| self.statement(depth)).collect();
        self.scope.truncate(outer);
        body
    }

    fn statement(&mut self, depth: u8) -> Statement {
        self.statements += 1;
        let ways = if depth == 0 || self.statements > 12 { 4 } else { 8 };
        match self.pick(ways) {
            0 => {
                let id = self.fresh();
                let bound = self.pick(2) == 1;
                let of = self.text(2);
                if bound {
                    self.scope.push((id, Kind::Text));
                    return bind(id, of);
                }
                create(None, on(TRACKER, "note"), vec![entry("of", of)])
            }
            1 => {
                let id = self.fresh();
                let value = self.number(3);
                self.scope.push((id, Kind::Number));
                bind(id, value)
            }
            2 if self.pick(2) == 1 => {
                let list = self.numbers(1);
                let item = self.fresh();
                let body = self.closure(&[item], depth.min(1));
                statement(StatementKind::Do(self.through(list.ty.clone(), Way::Map, list, item, body)))
            }
            2 => statement(StatementKind::Do(self.number(2))),
            3 if self.pick(6) == 1 => {
                let why = self.text(1);
                statement(StatementKind::Fail(why))
            }
            3 | 4 => {
                let of = self.text(2);
                create(None, on(TRACKER, "note"), vec![entry("of", of)])
            }
            5 => {
                let arms = (0..=self.pick(2)).map(|_| (self.boolean(2), self.block(depth - 1))).collect();
                let otherwise = (self.pick(2) == 1).then(|| self.block(depth - 1));
                statement(StatementKind::If { arms, otherwise })
            }
            6 if self.pick(3) == 1 => give(self.number(2)),
            _ => {
                let path = self.path(2);
                let last = path.hops.last().unwrap().local.0;
                let outer = self.scope.len();
                self.scope.push((last, Kind::Person));
                let body = self.block(depth - 1);
                self.scope.truncate(outer);
                each(path, body)
            }
        }
    }

    /// A closure that is given numbers and gives one: an expression, or a block with a `return`.
    fn closure(&mut self, given: &[u32], depth: u8) -> ClosureBody {
        let outer = self.scope.len();
        self.scope.extend(given.iter().map(|id| (*id, Kind::Number)));
        let body = if self.pick(2) == 1 && self.statements < 12 {
            let mut body = self.block(depth);
            body.push(give(self.number(depth)));
            ClosureBody::Block(body)
        } else {
            ClosureBody::Value(self.number(depth))
        };
        self.scope.truncate(outer);
        body
    }

    fn through(&mut self, ty: Ty, way: Way, list: Expr, item: u32, body: ClosureBody) -> Expr {
        let through = Through { way, list, item: LocalId(item), body };
        expr(ty, ExprKind::Through(Box::new(through)))
    }

    /// A list of numbers.
    fn numbers(&mut self, depth: u8) -> Expr {
        let ty = || Ty::List(Box::new(Ty::Number));
        let ways = if depth == 0 { 1 } else { 4 };
        let way = self.pick(ways);
        if way == 0 {
            let args = vec![number("0"), number(&self.pick(4).to_string())];
            return expr(ty(), ExprKind::Builtin { builtin: Builtin::Range, args });
        }
        let list = self.numbers(depth - 1);
        let item = self.fresh();
        match way {
            1 => {
                let body = self.closure(&[item], depth - 1);
                self.through(ty(), Way::Map, list, item, body)
            }
            2 => {
                self.scope.push((item, Kind::Number));
                let body = ClosureBody::Value(self.boolean(depth - 1));
                self.scope.pop();
                self.through(ty(), Way::Filter, list, item, body)
            }
            _ => {
                let body = self.closure(&[item], depth - 1);
                let descending = self.pick(2) == 1;
                self.through(ty(), Way::Sort { descending }, list, item, body)
            }
        }
    }

    fn path(&mut self, depth: u8) -> Path {
        let outer = self.scope.len();
        let from = self.known(Kind::Person).filter(|_| self.bytes.next().unwrap_or(0) % 2 == 1);
        let start = match from {
            Some(id) => PathStart::Record(local(id, person())),
            None => PathStart::Root(CRM),
        };
        let count = 1 + self.pick(2);
        let mut hops = Vec::new();
        for index in 0..count {
            let id = self.fresh();
            let mut landing = hop(id, on(CRM, "Person"), Count::Many);
            if index > 0 || from.is_some() {
                landing.edge = "People".into();
            }
            let pin = (self.pick(3) == 1).then(|| self.text(1));
            self.scope.push((id, Kind::Person));
            landing.filter = (self.pick(3) == 1).then(|| self.boolean(depth.min(1)));
            match pin {
                Some(pin) if self.asks == Asks::Pins => landing.pins = vec![("Name".into(), pin)],
                Some(pin) => {
                    if self.asks == Asks::Lookup && matches!(start, PathStart::Root(_)) && index == 0 {
                        landing.by = vec![("Name".into(), pin.clone())];
                    }
                    let test = binary(Op::Equal, self.name(id), pin, Ty::Boolean);
                    landing.filter = Some(match landing.filter {
                        Some(filter) => binary(Op::And, test, filter, Ty::Boolean),
                        None => test,
                    });
                }
                None => {}
            }
            if self.pick(3) == 1 {
                let key = if self.pick(2) == 0 { self.number(depth.min(1)) } else { self.name(id) };
                landing.order = vec![(key, self.pick(2) == 1)];
                landing.limit = (self.pick(2) == 1).then(|| 1 + u64::from(self.pick(2)));
            }
            hops.push(landing);
        }
        self.scope.truncate(outer);
        Path { span: span(), start, hops, count: Count::Many }
    }

    fn landed(&mut self, depth: u8) -> Expr {
        expr(Ty::List(Box::new(person())), ExprKind::Read(Box::new(self.path(depth))))
    }

    fn name(&mut self, id: u32) -> Expr {
        field(local(id, person()), "Name", Ty::Text)
    }

    fn number(&mut self, depth: u8) -> Expr {
        let ways = if depth == 0 { 3 } else { 11 };
        match self.pick(ways) {
            8 => {
                let list = self.numbers(depth - 1);
                let start = self.number(depth - 1);
                let (total, item) = (self.fresh(), self.fresh());
                let body = self.closure(&[total, item], depth - 1);
                let way = Way::Reduce { start, total: LocalId(total) };
                self.through(Ty::Number, way, list, item, body)
            }
            9 => {
                let list = self.numbers(depth - 1);
                expr(Ty::Number, ExprKind::Builtin { builtin: Builtin::Count, args: vec![list] })
            }
            10 => {
                let list = self.numbers(depth - 1);
                let item = self.fresh();
                self.scope.push((item, Kind::Number));
                let body = ClosureBody::Value(self.text(depth - 1));
                self.scope.pop();
                let ty = Ty::List(Box::new(Ty::Record(Vec::new())));
                let groups = self.through(ty, Way::Group, list, item, body);
                expr(Ty::Number, ExprKind::Builtin { builtin: Builtin::Count, args: vec![groups] })
            }
            1 => match self.known(Kind::Number) {
                Some(id) => local(id, Ty::Number),
                None => number("2"),
            },
            2 => match self.known(Kind::Person) {
                Some(id) => field(local(id, person()), "Age", Ty::Number),
                None => number("3"),
            },
            3 => binary(Op::Add, self.number(depth - 1), self.number(depth - 1), Ty::Number),
            4 => binary(Op::Divide, self.number(depth - 1), self.number(depth - 1), Ty::Number),
            5 if self.index + 1 < FUNCTIONS => {
                let callee = self.index + 1 + u32::from(self.pick(2)) % (FUNCTIONS - self.index - 1);
                call(callee, vec![self.number(depth - 1)], Ty::Number)
            }
            6 => {
                let arms = (0..=self.pick(2)).map(|_| (self.boolean(depth - 1), self.number(depth - 1))).collect();
                let otherwise = Box::new(self.number(depth - 1));
                expr(Ty::Number, ExprKind::If { arms, otherwise })
            }
            7 => {
                let landed = self.landed(depth - 1);
                expr(Ty::Number, ExprKind::Builtin { builtin: Builtin::Count, args: vec![landed] })
            }
            _ => number(&self.pick(5).to_string()),
        }
    }

    fn text(&mut self, depth: u8) -> Expr {
        let ways = if depth == 0 { 2 } else { 5 };
        match self.pick(ways) {
            1 => match self.known(Kind::Person) {
                Some(id) => self.name(id),
                None => lit("t"),
            },
            2 => text(vec![self.text(depth - 1), lit("/"), self.number(depth - 1)]),
            3 => {
                let nick = match self.known(Kind::Person) {
                    Some(id) => field(local(id, person()), "Nick", Ty::Text.optional()),
                    None => lit(lf_module::Value::Absent),
                };
                let args = vec![nick, self.text(depth - 1)];
                expr(Ty::Text, ExprKind::Builtin { builtin: Builtin::Coalesce, args })
            }
            4 => match self.known(Kind::Text) {
                Some(id) => local(id, Ty::Text),
                None => lit("u"),
            },
            _ => lit("s"),
        }
    }

    fn boolean(&mut self, depth: u8) -> Expr {
        let ways = if depth == 0 { 2 } else { 7 };
        match self.pick(ways) {
            1 => binary(Op::Less, self.number(0), self.number(0), Ty::Boolean),
            2 => binary(Op::And, self.boolean(depth - 1), self.boolean(depth - 1), Ty::Boolean),
            3 => binary(Op::Or, self.boolean(depth - 1), self.boolean(depth - 1), Ty::Boolean),
            4 => expr(Ty::Boolean, ExprKind::Not(Box::new(self.boolean(depth - 1)))),
            5 => binary(Op::Equal, self.text(depth - 1), self.text(depth - 1), Ty::Boolean),
            6 => expr(Ty::Boolean, ExprKind::Exists(Box::new(self.landed(depth - 1)))),
            _ => lit(self.bytes.next().unwrap_or(1) % 2 == 1),
        }
    }
}
