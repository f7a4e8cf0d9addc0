//! The typed program: what the checker proved. Names are ids, every expression has a type, nothing is unresolved.
//!
//! There are no error nodes: a movement with an error in it does not become one of these. Spans stay for the
//! ledger's places; nothing is decided by them.
//!
//! One file, because it is one border: what the plan, the graph and the tests are made from.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use lf_module::{call::ChangeKind, call::Start, schema::Count, value::Value};
use smol_str::SmolStr;

use super::catalog::ConnectionKey;
use crate::{
    source::{SourceId, Span},
    types::{ConnectionId, Ty, TypeRef},
};

/// An index into [`Movement::functions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// An index into [`Movement::constants`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantId(pub u32);

/// A name bound inside one function: parameter, binding, alias. Unique within the function; below [`Function::locals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalId(pub u32);

/// A whole program: every file that was checked together.
#[derive(Debug, Clone, PartialEq)]
pub struct Movement {
    /// Each distinct connection, once.
    pub connections: Vec<Connection>,
    /// File-level constants, each after those it uses.
    pub constants: Vec<Constant>,
    pub functions: Vec<Function>,
    /// The listens of the root files, in order of file and line.
    pub listens: Vec<Listen>,
    /// The listens of the files that only others import: a run never fires them, a test of a file that imports them
    /// does.
    pub imported: Vec<Listen>,
    /// The tests of the root files, in order of file and line.
    pub tests: Vec<Test>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    pub key: ConnectionKey,
    /// The name in the first file that connects it, for messages.
    pub name: SmolStr,
    pub module: SmolStr,
    pub using: Option<SmolStr>,
    pub settings: BTreeMap<SmolStr, Value>,
    /// Of the first `connect`.
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    pub name: SmolStr,
    pub value: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub name: SmolStr,
    pub span: Span,
    /// What its `///` says.
    pub doc: Option<String>,
    pub params: Vec<Param>,
    /// What it gives back; `None` if it never returns a value.
    pub returns: Option<Ty>,
    /// How many locals there are.
    pub locals: u32,
    pub body: Block,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    pub local: LocalId,
    pub name: SmolStr,
    pub ty: Ty,
}

/// One `listen … fire`.
#[derive(Debug, Clone, PartialEq)]
pub struct Listen {
    pub span: Span,
    /// `as "label"`, if given.
    pub label: Option<SmolStr>,
    pub on: TypeRef,
    /// The pins of the WHERE, constant expressions, sent to the source.
    pub pins: Vec<(SmolStr, Expr)>,
    /// The rest of the WHERE: a condition over the changed record, which is local 0; constants otherwise.
    pub filter: Option<Expr>,
    pub fire: FunctionId,
    /// Whether the function also takes the `<change>`.
    pub with_change: bool,
    pub settings: ListenSettings,
}

/// The settings of a listen, defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct ListenSettings {
    pub kinds: Vec<ChangeKind>,
    /// Only updates that touch one of these fire; empty: all do.
    pub fields: Vec<SmolStr>,
    pub every: SignedDuration,
    pub start: Start,
    pub concurrency: u32,
    pub retry: u32,
    pub echo: bool,
    /// How many changes that caused each other may lead to it; the project's limit holds too.
    pub depth: Option<u32>,
    pub timeout: SignedDuration,
    /// `while_waiting: "go"`
    pub go: bool,
    pub debounce: Option<SignedDuration>,
}

/// `test "…" { … }`
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    pub span: Span,
    pub name: SmolStr,
    /// What its clock shows when it begins, if it says.
    pub at: Option<Timestamp>,
    /// Its file and those that it imports, directly or through others: their listens fire.
    pub reach: Vec<SourceId>,
    pub lines: Vec<TestLine>,
}

/// One line of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestLine {
    pub span: Span,
    /// How many locals the values have.
    pub locals: u32,
    /// What stands in it, in the order in which the kind names it. Reads and writes nothing.
    pub values: Vec<Expr>,
    pub kind: TestLineKind,
}

/// A field of a line; its value is the line's next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestField {
    pub name: SmolStr,
    pub span: Span,
}

/// What a line does. Every field stands for one value, in the order in which they are declared here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestLineKind {
    Given {
        kind: ChangeKind,
        on: TypeRef,
        record: Vec<TestField>,
        before: Option<Vec<TestField>>,
    },
    After(SignedDuration),
    Answer {
        on: TypeRef,
        /// Where the walk comes from, if not from the root.
        from: Option<TestOrigin>,
        /// The pins that a read must have.
        pins: Vec<TestField>,
        reply: TestReply,
    },
    Write {
        on: TypeRef,
        record: Vec<TestField>,
    },
    Delete {
        on: TypeRef,
        key: Option<TestField>,
    },
    /// `link` or `unlink`: the record it starts at, and the key of the one it leads to.
    Tie {
        join: bool,
        tie: TestTie,
        to: Option<TestField>,
    },
    /// Of any type, or of this one.
    NoWrite {
        on: Option<TypeRef>,
    },
    NoDelete {
        on: Option<TypeRef>,
    },
    NoTie {
        join: bool,
        tie: Option<TestTie>,
    },
    /// One value: the text that a failure holds, or a status.
    Fails,
    /// Two values and whether they compare, or a condition alone.
    Holds {
        compared: bool,
    },
}

/// The record that a read starts from: its type, its key if that is fixed (a value of its own), and the edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestOrigin {
    pub ty: SmolStr,
    pub edge: SmolStr,
    pub key: Option<TestField>,
}

/// The edge by which two records are joined or taken apart: its type, its name, and the key of the record that it
/// starts at, if that is fixed (a value of its own).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestTie {
    pub on: TypeRef,
    pub edge: SmolStr,
    pub key: Option<TestField>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestReply {
    /// `{ … }`: what a read or a write gives.
    One(Vec<TestField>),
    /// `[ … ]`: what a read lands on.
    Many(Vec<Vec<TestField>>),
    /// One value: the text, or the status.
    Fails,
}

pub type Block = Vec<Statement>;

#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub span: Span,
    pub kind: StatementKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    Bind {
        local: LocalId,
        value: Expr,
    },
    /// An expression for its effects: a call.
    Do(Expr),
    Write {
        bind: Option<LocalId>,
        write: Write,
        refused: Option<Refused>,
    },
    /// The operand is a position or a handle.
    Delete {
        target: Expr,
    },
    /// Joins two records by an edge, or takes them apart. Both are positions or handles.
    Link {
        join: bool,
        from: Expr,
        edge: SmolStr,
        to: Expr,
    },
    /// The body runs once for each record that the path lands on, which is the last hop's local.
    Each {
        path: Path,
        body: Block,
    },
    If {
        arms: Vec<(Expr, Block)>,
        otherwise: Option<Block>,
    },
    Return(Option<Expr>),
    /// `ERROR("why")`
    Fail(Expr),
    /// The run is parked until it is over.
    Await {
        bind: Option<LocalId>,
        wait: Wait,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub span: Span,
    /// As its author wrote it, on one line: for people's eyes.
    pub written: SmolStr,
    pub kind: WaitKind,
}

/// What is waited for. Lengths are present durations.
#[derive(Debug, Clone, PartialEq)]
pub enum WaitKind {
    Sleep(Expr),
    /// The first record of the type, created or updated, that is so; absent when the time is over.
    First {
        on: TypeRef,
        /// The record that changed, in the filter.
        item: LocalId,
        pins: Vec<(SmolStr, Expr)>,
        /// Pure: the record, names around it and constants.
        filter: Option<Expr>,
        /// How often a polled source is asked.
        every: SignedDuration,
        most: Expr,
    },
    /// Whether a condition came true; it only reads.
    Until {
        condition: Expr,
        every: Expr,
        most: Expr,
    },
    /// All arms, or the first that is done. They give values of one type, or none does.
    Arms {
        race: bool,
        arms: Vec<ClosureBody>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    pub span: Span,
    /// What is written.
    pub on: TypeRef,
    pub target: WriteTarget,
    /// Each line of `unique by`, every field of which is among the entries.
    pub unique: Vec<Vec<SmolStr>>,
    /// No field twice; spreads are already resolved into single fields.
    pub entries: Vec<Entry>,
}

/// What runs where the system refuses a write; what the write binds is then absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// `{ text, status }`
    pub why: LocalId,
    pub body: Block,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WriteTarget {
    /// A new record (or an action) from the root.
    Create,
    /// A new record of an edge of another record.
    CreateUnder { owner: Expr, edge: SmolStr },
    /// Change this record.
    Update(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub field: SmolStr,
    pub span: Span,
    pub mode: EntryMode,
    pub value: Expr,
}

/// How an entry treats what is there and what is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryMode {
    /// Set; the value is present.
    Set,
    /// Set; an absent value leaves the field as it is (`ELSE SKIP`).
    SetOrSkip,
    /// Set; an absent value empties the field (`ELSE CLEAR`).
    SetOrClear,
    /// On update only if the current value is absent or an empty list; an absent value is not sent (`?:`).
    Fill,
    /// Add the members that are not there yet (`+:`).
    Add,
}

/// A walk.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub span: Span,
    pub start: PathStart,
    /// At least one.
    pub hops: Vec<Hop>,
    /// How many records it lands on in all.
    pub count: Count,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PathStart {
    Root(ConnectionId),
    /// A position or handle.
    Record(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hop {
    pub span: Span,
    /// The landed record, seen by this hop's filter and order, by later hops, and (the last one) by the body.
    pub local: LocalId,
    pub on: TypeRef,
    /// The name walked: an edge of the record before, or the type's name at the root.
    pub edge: SmolStr,
    /// How many records one step of it lands on, before filter and limit.
    pub count: Count,
    /// Fields fixed with `==`, sent to the source.
    pub pins: Vec<(SmolStr, Expr)>,
    /// One set of the type's lookups, if the filter fixes each of its fields with `==`: what the source looks up in
    /// place of a read of everything. The filter tests these fields again.
    pub by: Vec<(SmolStr, Expr)>,
    /// Everything else of the WHERE.
    pub filter: Option<Expr>,
    pub order: Vec<(Expr, bool)>,
    pub limit: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    pub ty: Ty,
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    Literal(Value),
    Local(LocalId),
    Constant(ConstantId),
    /// Of a record, a position, a handle, a change or json; of a list (a path's landing): of each.
    Field {
        base: Box<Expr>,
        name: SmolStr,
    },
    /// Parts are present scalars.
    Interpolate(Vec<Expr>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary {
        op: Op,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// The operand's value is of this type.
    Is {
        operand: Box<Expr>,
        ty: Ty,
    },
    /// Checked conversion of json; absent if it does not fit.
    As {
        operand: Box<Expr>,
        ty: Ty,
    },
    /// Present (an expression), or lands on something (a path).
    Exists(Box<Expr>),
    If {
        arms: Vec<(Expr, Expr)>,
        otherwise: Box<Expr>,
    },
    List(Vec<Item>),
    Record(Vec<RecordItem>),
    Call {
        function: FunctionId,
        args: Vec<Expr>,
    },
    Builtin {
        builtin: Builtin,
        args: Vec<Expr>,
    },
    /// A list walked by a closure: `MAP` and its kin.
    Through(Box<Through>),
    /// A path as a value: one record, `record | absent`, or a list, as its count says.
    Read(Box<Path>),
}

/// `MAP(list, (item) => …)` and its kin. The closure's names are locals of the function it stands in.
#[derive(Debug, Clone, PartialEq)]
pub struct Through {
    pub way: Way,
    pub list: Expr,
    /// The member that the closure is given.
    pub item: LocalId,
    pub body: ClosureBody,
}

/// What becomes of the values that a closure gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Way {
    /// A list of them. Without a value it is run for its effects alone.
    Map,
    /// The members for which it is true.
    Filter,
    /// Each is the total that the next one is given.
    Reduce { start: Expr, total: LocalId },
    /// `{ key, items }` for each distinct one, in the order in which they first come.
    Group,
    /// The members in their order.
    Sort { descending: bool },
}

#[derive(Debug, Clone, PartialEq)]
pub enum ClosureBody {
    Value(Expr),
    /// A `return` in it leaves the closure.
    Block(Block),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    One(Expr),
    /// All members of a list.
    Spread(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub enum RecordItem {
    Field(SmolStr, Expr),
    /// All fields of a record; later items win.
    Spread(Expr),
}

/// A binary operator whose operands were proved to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Member in list.
    In,
    /// Text in text, or list has member.
    Contains,
    /// The datetime lies no more than that before or after now.
    Within,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Every built-in that is built. `COALESCE` is one too (lazy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Builtin {
    Trim,
    Lower,
    Upper,
    Length,
    Split,
    Join,
    Replace,
    Slice,
    Slug,
    Starts,
    Ends,
    Match,
    Text,
    Lines,
    Abs,
    Floor,
    Ceil,
    Round,
    Number,
    Now,
    Today,
    Date,
    Datetime,
    Format,
    AtTime,
    Duration,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    First,
    Last,
    Only,
    At,
    Sort,
    /// A list by the list of its keys: what `SORT` with a closure becomes.
    SortBy,
    /// A list by the list of its keys: what `GROUP` becomes.
    GroupBy,
    Distinct,
    Flat,
    Range,
    Keys,
    Json,
    Parse,
    Print,
    Hash,
    Url,
    Encode,
    Coalesce,
}
