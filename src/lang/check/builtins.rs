//! The built-in functions: their one table of signatures. What they do is the run machine's.

use super::typed::Builtin;
use crate::syntax::ast;

/// What an argument may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Text,
    Number,
    Date,
    /// Any single value that has a text form.
    Scalar,
    /// A date or a datetime.
    Temporal,
    /// A text or a list.
    TextOrList,
    List,
    TextList,
    NumberList,
    /// A list of values that have an order.
    OrderedList,
    /// A list of lists.
    ListList,
    /// A list or json.
    ListOrJson,
    Json,
    /// Anything, also what is absent.
    Any,
    /// A text known when it is checked.
    Literal(Form),
}

impl Takes {
    /// The word for it in a signature.
    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Date => "date",
            Self::Scalar => "scalar",
            Self::Temporal => "date or datetime",
            Self::TextOrList => "text or list",
            Self::List => "list",
            Self::TextList => "text[]",
            Self::NumberList => "number[]",
            Self::OrderedList => "list of what has an order",
            Self::ListList => "list of lists",
            Self::ListOrJson => "list or json",
            Self::Json => "json",
            Self::Any => "anything",
            Self::Literal(Form::Regex) => "\"regex\"",
            Self::Literal(Form::Zone) => "\"zone\"",
            Self::Literal(Form::Time) => "\"09:00\"",
            Self::Literal(Form::Pattern) => "\"YYYY-MM-DD\"",
            Self::Literal(Form::Direction) => "\"asc\" or \"desc\"",
        }
    }
}

impl Gives {
    /// The word for it in a signature.
    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::TextList => "text[]",
            Self::Number => "number",
            Self::NumberList => "number[]",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::MaybeNumber => "number | absent",
            Self::MaybeDate => "date | absent",
            Self::MaybeDatetime => "datetime | absent",
            Self::MaybeDuration => "duration | absent",
            Self::MaybeMatch => "{ text: text, groups: text[] } | absent",
            Self::Json => "json",
            Self::MaybeJson => "json | absent",
            Self::MaybeUrl => "{ scheme: text, host: text, path: text, query: json } | absent",
            Self::Same => "the list",
            Self::MaybeMember => "a member | absent",
            Self::Member => "the members",
        }
    }
}

/// What a literal argument must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Regex,
    Zone,
    Time,
    Pattern,
    Direction,
}

/// What a call gives, in terms of its first argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    Text,
    TextList,
    Number,
    NumberList,
    Boolean,
    Date,
    Datetime,
    MaybeNumber,
    MaybeDate,
    MaybeDatetime,
    MaybeDuration,
    /// `{ text, groups } | absent`
    MaybeMatch,
    Json,
    MaybeJson,
    /// `{ scheme, host, path, query } | absent`
    MaybeUrl,
    /// The list itself.
    Same,
    /// A member of the list, or absent.
    MaybeMember,
    /// The members, themselves lists, in one.
    Member,
}

/// One row of the table. `COALESCE` is not in it: it takes any number of arguments of any one type.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) name: &'static str,
    pub(super) builtin: Builtin,
    pub(super) args: &'static [Takes],
    /// How many of them must be given.
    pub(super) least: usize,
    pub(super) gives: Gives,
}

macro_rules! signatures {
    ($($name:literal $builtin:ident ($($arg:expr),*) $least:literal $gives:ident;)*) => {
        const SIGNATURES: &[Signature] = &[$(Signature {
            name: $name,
            builtin: Builtin::$builtin,
            args: &[$($arg),*],
            least: $least,
            gives: Gives::$gives,
        },)*];
    };
}

use Form::{Direction, Pattern, Regex, Time, Zone};
use Takes::{
    Any, Date, Json, List, ListList, ListOrJson, Literal, Number, NumberList, OrderedList, Scalar, Temporal, Text,
    TextList, TextOrList,
};

signatures! {
    "TRIM"      Trim      (Text)                                1 Text;
    "LOWER"     Lower     (Text)                                1 Text;
    "UPPER"     Upper     (Text)                                1 Text;
    "LENGTH"    Length    (TextOrList)                          1 Number;
    "SPLIT"     Split     (Text, Text)                          2 TextList;
    "JOIN"      Join      (TextList, Text)                      2 Text;
    "REPLACE"   Replace   (Text, Text, Text)                    3 Text;
    "SLICE"     Slice     (Text, Number, Number)                2 Text;
    "SLUG"      Slug      (Text)                                1 Text;
    "STARTS"    Starts    (Text, Text)                          2 Boolean;
    "ENDS"      Ends      (Text, Text)                          2 Boolean;
    "MATCH"     Match     (Text, Literal(Regex))                2 MaybeMatch;
    "TEXT"      Text      (Scalar)                              1 Text;
    "LINES"     Lines     (Text)                                1 TextList;
    "ABS"       Abs       (Number)                              1 Number;
    "FLOOR"     Floor     (Number)                              1 Number;
    "CEIL"      Ceil      (Number)                              1 Number;
    "ROUND"     Round     (Number, Number)                      1 Number;
    "NUMBER"    Number    (Text)                                1 MaybeNumber;
    "NOW"       Now       ()                                    0 Datetime;
    "TODAY"     Today     (Literal(Zone))                       1 Date;
    "DATE"      Date      (Text)                                1 MaybeDate;
    "DATETIME"  Datetime  (Text)                                1 MaybeDatetime;
    "FORMAT"    Format    (Temporal, Literal(Pattern), Literal(Zone)) 2 Text;
    "AT_TIME"   AtTime    (Date, Literal(Time), Literal(Zone))  3 Datetime;
    "DURATION"  Duration  (Text)                                1 MaybeDuration;
    "COUNT"     Count     (List)                                1 Number;
    "SUM"       Sum       (NumberList)                          1 Number;
    "AVG"       Avg       (NumberList)                          1 MaybeNumber;
    "MIN"       Min       (OrderedList)                         1 MaybeMember;
    "MAX"       Max       (OrderedList)                         1 MaybeMember;
    "FIRST"     First     (List)                                1 MaybeMember;
    "LAST"      Last      (List)                                1 MaybeMember;
    "ONLY"      Only      (List)                                1 MaybeMember;
    "AT"        At        (ListOrJson, Number)                  2 MaybeMember;
    "SORT"      Sort      (OrderedList, Literal(Direction))     1 Same;
    "DISTINCT"  Distinct  (List)                                1 Same;
    "FLAT"      Flat      (ListList)                            1 Member;
    "RANGE"     Range     (Number, Number)                      2 NumberList;
    "KEYS"      Keys      (Json)                                1 TextList;
    "JSON"      Json      (Any)                                 1 Json;
    "PARSE"     Parse     (Text)                                1 MaybeJson;
    "PRINT"     Print     (Any)                                 1 Text;
    "HASH"      Hash      (Text)                                1 Text;
    "URL"       Url       (Text)                                1 MaybeUrl;
    "ENCODE"    Encode    (Text)                                1 Text;
}

/// The built-ins that walk a list with a closure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Through {
    Map,
    Filter,
    Reduce,
    Group,
    Sort,
}

impl Through {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Map => "MAP",
            Self::Filter => "FILTER",
            Self::Reduce => "REDUCE",
            Self::Group => "GROUP",
            Self::Sort => "SORT",
        }
    }

    /// Its closure, in words.
    pub(super) fn closure(self) -> &'static str {
        match self {
            Self::Map => "a closure of `MAP`",
            Self::Filter => "a closure of `FILTER`",
            Self::Reduce => "a closure of `REDUCE`",
            Self::Group => "a closure of `GROUP`",
            Self::Sort => "a closure of `SORT`",
        }
    }

    /// How it is written.
    pub(super) fn written(self) -> &'static str {
        match self {
            Self::Map => "MAP(list, (item) => …)",
            Self::Filter => "FILTER(list, (item) => …)",
            Self::Reduce => "REDUCE(list, start, (total, item) => …)",
            Self::Group => "GROUP(list, (item) => …)",
            Self::Sort => "SORT(list, (item) => …, \"desc\")",
        }
    }
}

/// What a call with this name walks, if it takes a closure. `SORT` also goes without one.
pub(super) fn through(name: &str, call: &ast::Call) -> Option<Through> {
    Some(match name {
        "MAP" => Through::Map,
        "FILTER" => Through::Filter,
        "REDUCE" => Through::Reduce,
        "GROUP" => Through::Group,
        "SORT" if call.args.iter().any(|arg| matches!(arg.value.kind, ast::ExprKind::Closure(_))) => Through::Sort,
        _ => return None,
    })
}

const CLOSURES: [&str; 4] = ["MAP", "FILTER", "REDUCE", "GROUP"];

/// The two that the table cannot express.
pub(super) const COALESCE: &str = "COALESCE";
pub(super) const ERROR: &str = "ERROR";

pub(super) fn find(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.name == name)
}

/// Every name that a call can have without a declaration.
pub(super) fn names<'n>() -> impl Iterator<Item = &'n str> {
    SIGNATURES.iter().map(|signature| signature.name).chain(CLOSURES).chain([COALESCE, ERROR])
}

/// How a call of it is written, and what it gives.
pub(super) fn written(name: &str) -> Option<String> {
    for way in [Through::Map, Through::Filter, Through::Reduce, Through::Group, Through::Sort] {
        if way.name() == name && way != Through::Sort {
            return Some(way.written().to_owned());
        }
    }
    match name {
        COALESCE => return Some("COALESCE(value, otherwise, …)".to_owned()),
        ERROR => return Some("ERROR(text)".to_owned()),
        _ => {}
    }
    let signature = find(name)?;
    let args = signature.args.iter().enumerate().map(|(place, takes)| {
        let optional = if place < signature.least { "" } else { "?" };
        format!("{}{optional}", takes.word())
    });
    let args: Vec<_> = args.collect();
    Some(format!("{name}({}): {}", args.join(", "), signature.gives.word()))
}

/// Whether a name means something everywhere, so that no declaration may take it.
pub(super) fn is_reserved(name: &str) -> bool {
    names().any(|known| known == name)
}
