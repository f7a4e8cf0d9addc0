//! What a module's file says, proven: plain data whose names, pointers and templates all lead somewhere.

use http::{HeaderName, Method};
use lf_module::{CredentialKind, TypeShape, Value, module::Setting};
use smol_str::SmolStr;

use crate::{pointer::Pointer, schema::Schema, template::Template};

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) doc: String,
    pub(crate) base_url: Option<Template>,
    pub(crate) headers: Vec<(HeaderName, Template)>,
    /// A request that shows whether the system takes the credential.
    pub(crate) verify: Option<Request>,
    /// Where a refusal says why.
    pub(crate) error_message: Option<Pointer>,
    /// Where a refusal names the field.
    pub(crate) error_field: Option<Pointer>,
    pub(crate) credentials: Vec<Signed>,
    pub(crate) credential_optional: bool,
    pub(crate) settings: Vec<Setting>,
    pub(crate) limits: Limits,
    pub(crate) types: Vec<Type>,
}

/// A kind of credential and what it does to a request.
#[derive(Debug)]
pub(crate) struct Signed {
    pub(crate) kind: CredentialKind,
    pub(crate) sign: Sign,
}

/// How a request is signed. The templates hold the credential's fields.
#[derive(Debug)]
pub(crate) enum Sign {
    Bearer(Template),
    Header(HeaderName, Template),
    Basic(Template, Template),
    Query(String, Template),
}

/// Bounds of one listing and one answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) pages: u64,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { pages: 10_000, records: 1_000_000, bytes: 16 << 20, seconds: 60 }
    }
}

/// One type.
#[derive(Debug)]
pub(crate) struct Type {
    pub(crate) name: SmolStr,
    /// What is told to the host.
    pub(crate) shape: TypeShape,
    pub(crate) schema: Schema,
    pub(crate) key: Option<SmolStr>,
    pub(crate) version: Option<Pointer>,
    pub(crate) list: Option<List>,
    pub(crate) get: Option<One>,
    pub(crate) create: Option<Create>,
    pub(crate) update: Option<Update>,
    pub(crate) delete: Option<Request>,
    pub(crate) follow: Option<Follow>,
    /// How often it may well be asked, in seconds, where a listen does not say.
    pub(crate) every: Option<u32>,
    /// Fields with the parameters of `list` that filter by them.
    pub(crate) find_by: Vec<Vec<(SmolStr, String)>>,
    pub(crate) edges: Vec<Walk>,
}

/// One request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: Template,
    pub(crate) query: Vec<(String, Template)>,
    pub(crate) headers: Vec<(HeaderName, Template)>,
    pub(crate) body: Option<Body>,
}

/// A body with places.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Fixed(Value),
    Text(Template),
    List(Vec<Body>),
    Record(Vec<(SmolStr, Body)>),
}

/// A request that answers many records.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) request: Request,
    pub(crate) records: Pointer,
    pub(crate) paging: Paging,
}

/// A request that answers one record.
#[derive(Debug)]
pub(crate) struct One {
    pub(crate) request: Request,
    pub(crate) record: Pointer,
}

#[derive(Debug)]
pub(crate) struct Create {
    pub(crate) one: One,
    pub(crate) idempotency: Option<HeaderName>,
}

#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) one: One,
    /// The record is read first and sent back whole.
    pub(crate) whole: bool,
}

/// An edge: how many it lands on decides what its answer holds.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) name: SmolStr,
    pub(crate) target: SmolStr,
    pub(crate) lands: Lands,
    /// Creates a record of the target under one of this type.
    pub(crate) create: Option<Create>,
    /// Joins two records, and takes them apart.
    pub(crate) link: Option<(Request, Request)>,
}

#[derive(Debug)]
pub(crate) enum Lands {
    OnMany(List),
    OnOne { one: One, optional: bool },
}

/// How the next page is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Paging {
    /// There is one page.
    Single,
    Cursor {
        parameter: String,
        next: Pointer,
        more: Option<Pointer>,
    },
    Number {
        parameter: String,
        first: u64,
        step: u64,
        size: Option<String>,
        of: Option<u64>,
    },
    Link,
}

/// How changes are followed.
#[derive(Debug)]
pub(crate) enum Follow {
    /// The whole list, again and again.
    List,
    /// What lies at or after the last value of a field that only grows.
    Cursor { field: Pointer, grows: Grows, parameter: String, overlap: u64 },
}

/// What can only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grows {
    Number,
    Date,
    Datetime,
}

impl Model {
    pub(crate) fn get(&self, name: &str) -> Option<&Type> {
        self.types.iter().find(|ty| ty.name == name)
    }
}

impl Body {
    /// The names that are placed in it.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Text(template) => template.names().map(str::to_owned).collect(),
            Self::List(items) => items.iter().flat_map(Self::names).collect(),
            Self::Record(fields) => fields.iter().flat_map(|(_, body)| body.names()).collect(),
        }
    }
}
