//! The tree of a file: plain data with spans. No types, no ids, nothing resolved, nothing checked.

use jiff::SignedDuration;
use lf_module::{Number, call::ChangeKind};
use smol_str::SmolStr;

use crate::source::{SourceId, Span};

/// A name as it was written, without backticks, after NFC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub text: SmolStr,
    /// Of the name as written, backticks included.
    pub span: Span,
}

/// A text literal without interpolation (paths, labels, choices).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    pub text: SmolStr,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub source: SourceId,
    pub items: Vec<Item>,
    /// Every `//` comment, in order, sign included.
    pub comments: Vec<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    Import(Import),
    Connection(Connection),
    Type(TypeItem),
    Function(Function),
    Listen(Listen),
    Binding(Binding),
    Test(Test),
    /// Could not be read and was reported; whoever uses its name says nothing more.
    Bad {
        span: Span,
        name: Option<Name>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub span: Span,
    pub names: Vec<ImportedName>,
    pub from: Plain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedName {
    pub name: Name,
    pub alias: Option<Name>,
}

/// `NAME = connect MODULE using NAME { settings }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    pub span: Span,
    pub doc: Option<String>,
    pub export: bool,
    pub name: Name,
    /// `#name` or `@scope/name`, sign included, backticks not.
    pub module: Name,
    pub using: Option<Name>,
    pub settings: Vec<Setting>,
}

/// `key: literal`; the value is any expression, the checker asks for a literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub name: Name,
    pub value: Expr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeItem {
    pub span: Span,
    pub doc: Option<String>,
    pub export: bool,
    pub name: Name,
    pub ty: TypeExpr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub span: Span,
    pub doc: Option<String>,
    pub export: bool,
    pub name: Name,
    pub params: Vec<Param>,
    pub returns: Option<TypeExpr>,
    pub body: Block,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    pub name: Name,
    pub ty: TypeExpr,
}

/// `listen as "label" to PATH { settings } fire NAME`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    pub span: Span,
    pub doc: Option<String>,
    pub label: Option<Plain>,
    pub path: Path,
    pub settings: Vec<Setting>,
    pub fire: Name,
}

/// `NAME = expression` at file level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub span: Span,
    pub doc: Option<String>,
    pub export: bool,
    pub name: Name,
    pub value: Expr,
}

/// `test "…" at "…" { … }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    pub span: Span,
    pub doc: Option<String>,
    pub name: Plain,
    pub at: Option<Plain>,
    /// Of the braces.
    pub body: Span,
    pub lines: Vec<TestLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestLine {
    pub span: Span,
    pub kind: TestLineKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestLineKind {
    /// `given PATH { … }`, `given updated PATH { … } before { … }`, `given deleted PATH { … }`; the records are
    /// record expressions.
    Given { kind: ChangeKind, path: Path, record: Expr, before: Option<Expr> },
    /// `after 2d`
    After(Expr),
    /// `answer PATH …`
    Answer { path: Path, reply: Reply },
    /// `expect write PATH { … }`
    Write { path: Path, record: Expr },
    /// `expect delete PATH`, `expect delete PATH { … }`
    Delete { path: Path, record: Option<Expr> },
    /// `expect link PATH`, `expect unlink PATH { … }`
    Tie { join: bool, path: Path, record: Option<Expr> },
    /// `expect no write`, `expect no link PATH`
    None { act: Act, path: Option<Path> },
    /// `expect fails "…"`
    Fails(Expr),
    /// `expect x == y`
    Holds(Expr),
    /// Could not be read and was reported.
    Bad,
}

/// What a run may do to a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Write,
    Delete,
    Link,
    Unlink,
}

/// What an `answer` gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// `{ … }`, or a list of them.
    Records(Expr),
    /// `fails "…"`, `fails 503`
    Fails(Expr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeExpr {
    pub span: Span,
    pub kind: TypeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeKind {
    /// `text`, `json`, `change`, or a declared type.
    Name(Name),
    /// `"a" | "b"`
    Choice(Vec<Plain>),
    /// `T[]`
    List(Box<TypeExpr>),
    /// `{ name: text }`
    Record(Vec<(Name, TypeExpr)>),
    /// `T | absent`
    OrAbsent(Box<TypeExpr>),
    /// `absent` alone
    Absent,
    /// `crm-[:Company]->`
    Position(Path),
    /// A union that is neither a choice nor `| absent`; the checker refuses it by name.
    Union(Vec<TypeExpr>),
    /// Could not be read and was reported.
    Bad,
}

/// `NAME { hop }`; at least one hop, except as the target of `write x` and the like, which are expressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    pub span: Span,
    pub head: Name,
    pub hops: Vec<Hop>,
}

/// `-[alias:Edge WHERE … ORDER BY … LIMIT n]->`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    pub span: Span,
    pub alias: Option<Name>,
    pub edge: Name,
    pub filter: Option<Expr>,
    pub order: Vec<OrderKey>,
    pub limit: Option<Limit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderKey {
    pub key: Expr,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    pub count: u64,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Braces included.
    pub span: Span,
    pub statements: Vec<Statement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub span: Span,
    pub kind: StatementKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    /// `x = expr`
    Bind {
        name: Name,
        value: Expr,
    },
    /// `write …`, or `x = write …`
    Write {
        bind: Option<Name>,
        write: Write,
    },
    /// `delete x`
    Delete {
        target: Expr,
    },
    /// `link a-[:E]-> b`, `unlink a-[:E]-> b`
    Link {
        /// `link`, not `unlink`.
        join: bool,
        path: Path,
        to: Expr,
    },
    /// `PATH { … }`
    Each {
        path: Path,
        body: Block,
    },
    If {
        arms: Vec<(Expr, Block)>,
        otherwise: Option<Block>,
    },
    /// A call as a statement: a function, or `ERROR("why")`.
    Call(Expr),
    /// `await sleep(2h)`, `x = await FIRST(PATH, 2d)`
    Await {
        bind: Option<Name>,
        wait: Await,
    },
    Return(Option<Expr>),
    /// Could not be read and was reported; whoever uses the name it would have bound says nothing more.
    Bad {
        bind: Option<Name>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// From `write` to the closing brace of the entries.
    pub span: Span,
    pub target: WriteTarget,
    pub unique: Vec<Unique>,
    pub entries: Vec<Entry>,
    pub refused: Option<Refused>,
}

/// `else (why) { … }`: the way of a write that the system refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The word `else`.
    pub word: Span,
    /// `None` if it was left out, which was reported.
    pub why: Option<Name>,
    pub body: Block,
}

/// What a statement waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Await {
    /// The word `await`.
    pub word: Span,
    /// From the name of the form to its `)`.
    pub span: Span,
    /// The form, as a call; arms are a list of closures.
    pub call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteTarget {
    /// `write crm-[:Company]-> { … }`
    Path(Path),
    /// `write x { … }`, `write x.owner { … }`
    Record(Expr),
}

/// One `unique by (A, B)` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unique {
    pub span: Span,
    pub fields: Vec<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// `Name: expr`, `Name: expr ELSE SKIP`, `Name: expr ELSE CLEAR`
    Set { name: Name, value: Expr, absent: IfAbsent },
    /// `Name ?: expr`
    Fill { name: Name, value: Expr },
    /// `Tags +: expr`
    Add { name: Name, value: Expr },
    /// `...r`
    Spread { span: Span, value: Expr },
}

/// What a set entry does with an absent value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfAbsent {
    /// Nothing was said: absence is an error.
    Refuse,
    Skip,
    Clear,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExprKind {
    /// `"…${expr}…"`: texts and expressions in turn; a text without interpolation has one part or none.
    Text(Vec<TextPart>),
    Number(Number),
    Duration(SignedDuration),
    Bool(bool),
    Null,
    Name(Name),
    Field {
        base: Box<Expr>,
        name: Name,
    },
    /// A path with at least one hop.
    Path(Path),
    Call(Call),
    Unary {
        op: UnaryOp,
        op_span: Span,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        op_span: Span,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Is {
        operand: Box<Expr>,
        ty: TypeExpr,
    },
    /// `json AS <T>`
    As {
        operand: Box<Expr>,
        ty: TypeExpr,
    },
    /// `EXISTS x`, `EXISTS PATH`
    Exists(Box<Expr>),
    /// `IF c THEN a ELSE IF d THEN b ELSE c END`
    If {
        arms: Vec<(Expr, Expr)>,
        otherwise: Box<Expr>,
    },
    List(Vec<ListItem>),
    Record(Vec<RecordItem>),
    /// An argument of a built-in, or an arm of a wait; nowhere else.
    Closure(Box<Closure>),
    /// Could not be read and was reported.
    Bad,
}

/// `(x) => expr`, `(x) => { … }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closure {
    /// From `(` to `)`.
    pub head: Span,
    pub params: Vec<Name>,
    pub body: ClosureBody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClosureBody {
    Value(Expr),
    Block(Block),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPart {
    Text(SmolStr),
    Expr(Expr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Built-ins too: upper case.
    pub callee: Name,
    pub args: Vec<Arg>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    /// `f(name: expr)`
    pub name: Option<Name>,
    pub value: Expr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListItem {
    Item(Expr),
    Spread(Expr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordItem {
    Field(Name, Expr),
    Spread(Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Not,
    Minus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Contains,
    Within,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}
