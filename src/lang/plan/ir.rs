//! The plan: what a runner stores, sends between processes and runs. Serialisable, stable order, content-hashed.
//!
//! Spans are gone; places (file, line, column, the line's text) stay for the ledger. No secrets, no handles: a
//! connection is its key.
//!
//! Code is flat, so that its JSON does not nest with the program and a run's state is plain numbers: a function is a
//! table of blocks, a block a list of steps; expressions live in one table of the plan and name each other by index.
//! Expressions are pure. Whatever reads, writes or calls is a step of its own, in evaluation order.

use std::{collections::BTreeMap, time::Duration};

use lf_module::{
    call::{ChangeKind, Start},
    value::Value,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

use crate::{
    check::{
        catalog::ConnectionKey,
        typed::{Builtin, EntryMode, Op as Operator},
    },
    types::{ConnectionId, Ty, TypeRef},
};

/// The version of the encoding that this program writes and reads.
pub const FORMAT: u32 = 1;

/// SHA-256 of the plan's canonical encoding without its places and texts, in hex: what a program does, not where it stands. A
/// comment, a blank line or a renamed file makes no new version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(pub SmolStr);

/// An index into [`Plan::places`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlaceId(pub u32);

/// An index into [`Plan::functions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FunctionIndex(pub u32);

/// A whole program, ready to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of this encoding; a runner refuses one it does not know.
    pub format: u32,
    pub connections: Vec<Connection>,
    pub listens: Vec<Listen>,
    /// The sources that runs wait for: listened to from the start, so that no answer is missed. They fire nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watches: Vec<Listen>,
    /// Those of the text first, in order; after them the parts of waits and the conditions of listens
    /// ([`Function::hidden`]).
    pub functions: Vec<Function>,
    /// File-level constants, each after those it uses.
    pub constants: Vec<Constant>,
    /// Every expression; children stand before their parents.
    pub exprs: Vec<Expr>,
    /// Where in the text things stand, for people.
    pub places: Vec<Place>,
    /// How an author wrote the expressions that are more than a name or a literal, by their index, for people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub texts: BTreeMap<u32, SmolStr>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    pub key: ConnectionKey,
    /// The author's name for it, for messages.
    pub name: SmolStr,
    pub module: SmolStr,
    pub using: Option<SmolStr>,
    pub settings: BTreeMap<SmolStr, Value>,
}

/// A place in the text, as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub file: SmolStr,
    pub line: u32,
    pub column: u32,
    /// The source line, trimmed, at most 120 characters.
    pub text: SmolStr,
    /// What happens there, in the ledger's words (`write tracker-[:create_issue]->`); empty where nothing leaves the
    /// machine.
    pub says: SmolStr,
    /// The one field of it that is given there; empty where it is all of it.
    #[serde(default, skip_serializing_if = "SmolStr::is_empty")]
    pub field: SmolStr,
}

/// What starts work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listen {
    /// The identity that a position belongs to: the label if there is one, else path and function:
    /// `crm-[:Company]-> fire triage`.
    pub name: SmolStr,
    pub place: PlaceId,
    pub connection: ConnectionId,
    pub ty: SmolStr,
    /// Evaluated pins, sent to the source.
    pub pins: BTreeMap<SmolStr, Value>,
    /// The rest of the WHERE: a function of the changed record that returns a boolean; see [`crate::run::matches`].
    pub filter: Option<FunctionIndex>,
    pub fire: FunctionIndex,
    /// The fired function's name, for messages.
    pub function: SmolStr,
    pub with_change: bool,
    pub kinds: Vec<ChangeKind>,
    /// Only updates that touch one of these fire; empty: all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<SmolStr>,
    pub every: Duration,
    pub start: Start,
    pub concurrency: u32,
    /// Attempts in all for a failed run.
    pub retry: u32,
    pub echo: bool,
    /// How many changes that caused each other may lead to it; the project's limit holds too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    pub timeout: Duration,
    /// Later changes of a record do not wait for its parked run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub go: bool,
    /// Changes of a record that follow each other within this time are one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce: Option<Duration>,
}

/// How the name of a watch begins; no listen's can.
pub const WATCH: &str = "await ";

/// A value of a running function: parameters, bindings and what lies between steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slot(pub u32);

/// An index into [`Plan::exprs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExprId(pub u32);

/// An index into [`Function::blocks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlockId(pub u32);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constant {
    pub name: SmolStr,
    pub value: ExprId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    pub name: SmolStr,
    /// Made by the compiler (a listen's condition): no author can name it.
    pub hidden: bool,
    pub place: PlaceId,
    pub params: Vec<Param>,
    /// The type it gives back, as a person reads it.
    pub returns: Option<SmolStr>,
    /// How many slots a call needs.
    pub slots: u32,
    /// The first is the body. A block that ends goes on after the step that entered it.
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    pub name: SmolStr,
    pub slot: Slot,
    pub ty: Ty,
    /// The type as a person reads it.
    pub text: SmolStr,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Block(pub Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub place: PlaceId,
    pub op: Op,
}

/// One step. Those with a `label` take part in addresses; a label is unique within its function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Set {
        slot: Slot,
        value: ExprId,
    },
    /// Reads one hop whole; the list of landed records goes into the slot.
    Read(Box<Read>),
    /// Adds a value, or with `all` the members of a list, to the list in the slot.
    Append {
        slot: Slot,
        value: ExprId,
        all: bool,
    },
    /// Sorts the list by keys (one list of keys for each member) and cuts it.
    Arrange {
        slot: Slot,
        keys: Option<Slot>,
        descending: Vec<bool>,
        limit: Option<u64>,
    },
    /// Runs the body once for each member.
    Each {
        list: Slot,
        item: Slot,
        body: BlockId,
    },
    If {
        condition: ExprId,
        then: BlockId,
        otherwise: Option<BlockId>,
    },
    /// Runs a block: the body of a closure, which [`Op::Leave`] may leave early.
    Enter {
        block: BlockId,
    },
    /// Goes on after the step that entered the block.
    Leave {
        block: BlockId,
    },
    Write(Box<Write>),
    Delete {
        label: SmolStr,
        on: TypeRef,
        target: ExprId,
    },
    /// Joins two records by an edge of `on`, or takes them apart.
    Link {
        label: SmolStr,
        on: TypeRef,
        edge: SmolStr,
        join: bool,
        from: ExprId,
        to: ExprId,
    },
    Call {
        label: SmolStr,
        slot: Option<Slot>,
        function: FunctionIndex,
        args: Vec<ExprId>,
    },
    Return(Option<ExprId>),
    Fail(ExprId),
    /// Goes on when the wait is over; what it gives goes into the slot.
    Await {
        label: SmolStr,
        slot: Option<Slot>,
        wait: Box<Wait>,
    },
}

/// What is waited for. Parts begin with the slots of the function they stand in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    Sleep {
        length: ExprId,
    },
    /// A change of the watch for whose record the test is true: it is in the slot of the test's one parameter.
    First {
        watch: u32,
        test: FunctionIndex,
        most: ExprId,
    },
    Until {
        test: FunctionIndex,
        every: ExprId,
        most: ExprId,
    },
    Arms {
        race: bool,
        arms: Vec<FunctionIndex>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    pub label: SmolStr,
    pub slot: Slot,
    pub on: TypeRef,
    pub origin: ReadOrigin,
    pub pins: Vec<Pin>,
    /// A set of fields that the source looks up in place of a read of everything; `sift` tests them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<Pin>,
    /// How many records the source is described to answer.
    pub count: lf_module::schema::Count,
    /// What is done with the records here.
    pub sift: Option<Sift>,
}

/// A field that a read fixes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    pub field: SmolStr,
    /// Of its value.
    pub place: PlaceId,
    pub value: ExprId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadOrigin {
    Root,
    Record { from: ExprId, ty: SmolStr, edge: SmolStr },
}

/// Filter, order and cut of landed records, all pure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sift {
    /// Holds the record while the filter and the keys are evaluated.
    pub item: Slot,
    pub filter: Option<ExprId>,
    /// Keys, and whether each is descending.
    pub order: Vec<(ExprId, bool)>,
    pub limit: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    pub label: SmolStr,
    /// Where the handle goes.
    pub slot: Option<Slot>,
    pub on: TypeRef,
    pub target: WriteTarget,
    pub unique: Vec<Vec<SmolStr>>,
    pub entries: Vec<Entry>,
    /// What runs if the system refuses; without it, the run fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Holds `{ text, status }` in the block.
    pub why: Slot,
    pub body: BlockId,
}

/// What a write does to which record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteTarget {
    Create,
    /// Creates by an edge of this record, which is of type `ty`.
    Under {
        record: ExprId,
        ty: SmolStr,
        edge: SmolStr,
    },
    Update(ExprId),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub field: SmolStr,
    pub place: PlaceId,
    pub mode: EntryMode,
    pub value: ExprId,
}

/// A pure expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expr {
    Literal(Value),
    Slot(Slot),
    /// An index into [`Plan::constants`].
    Constant(u32),
    Field(Box<Field>),
    Interpolate(Vec<ExprId>),
    Not(ExprId),
    Negate(ExprId),
    Binary {
        op: Operator,
        left: ExprId,
        right: ExprId,
    },
    Is {
        operand: ExprId,
        ty: Ty,
    },
    As {
        operand: ExprId,
        ty: Ty,
    },
    /// Not absent.
    Present(ExprId),
    /// A list with a member, or a value that is not absent.
    Lands(ExprId),
    /// The one member of a list of landed records; with `optional` absent if there is none.
    One {
        list: ExprId,
        optional: bool,
        on: TypeRef,
    },
    If {
        arms: Vec<(ExprId, ExprId)>,
        otherwise: ExprId,
    },
    List(Vec<Item>),
    Record(Vec<RecordItem>),
    Builtin {
        builtin: Builtin,
        args: Vec<ExprId>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    pub base: ExprId,
    pub name: SmolStr,
    /// Of each member of a list.
    pub each: bool,
    /// What the description promised of it. A value that breaks the promise is drift.
    pub expect: Option<Expected>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    pub ty: Ty,
    /// Whose field it is, as a person reads it.
    pub of: SmolStr,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    One(ExprId),
    Spread(ExprId),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordItem {
    Field(SmolStr, ExprId),
    Spread(ExprId),
}

impl Plan {
    #[must_use]
    pub fn place(&self, id: PlaceId) -> Option<&Place> {
        self.places.get(id.0 as usize)
    }

    #[must_use]
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(id.0 as usize)
    }

    /// The connection of this identity, as values of it name it.
    #[must_use]
    pub fn connection_by_key(&self, key: &str) -> Option<ConnectionId> {
        let place = self.connections.iter().position(|connection| connection.key.as_str() == key)?;
        u32::try_from(place).ok().map(ConnectionId)
    }

    #[must_use]
    pub fn function(&self, index: FunctionIndex) -> Option<&Function> {
        self.functions.get(index.0 as usize)
    }

    /// The function that an author calls `name`, in the first file that has one.
    #[must_use]
    pub fn function_by_name(&self, name: &str) -> Option<FunctionIndex> {
        let found = self.functions.iter().position(|function| !function.hidden && function.name == name)?;
        u32::try_from(found).ok().map(FunctionIndex)
    }

    #[must_use]
    pub fn expr(&self, id: ExprId) -> Option<&Expr> {
        self.exprs.get(id.0 as usize)
    }

    /// `crm-[:Company]->`, as an author writes it.
    #[must_use]
    pub fn path_of(&self, on: &TypeRef) -> String {
        let name = self.connection(on.connection).map_or("?", |connection| connection.name.as_str());
        format!("{name}-[:{}]->", on.ty)
    }

    /// What identifies this version of the program; see [`PlanId`].
    #[must_use]
    pub fn id(&self) -> PlanId {
        let Self { format, connections, listens, watches, functions, constants, exprs, places: _, texts: _ } = self;
        let encoded = serde_json::to_vec(&(format, connections, listens, watches, functions, constants, exprs));
        // Plain data with text keys always encodes; an empty text would only make a useless id.
        let digest = Sha256::digest(encoded.unwrap_or_default());
        let mut hex = String::with_capacity(64);
        for byte in digest.iter() {
            for half in [byte >> 4, byte & 15] {
                hex.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
            }
        }
        PlanId(hex.into())
    }
}
