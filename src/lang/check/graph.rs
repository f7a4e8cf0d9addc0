//! The described types of the connections in use, found by id and name. Reads descriptions; decides nothing.

use indexmap::IndexMap;
use lf_module::{
    Description,
    schema::{Field, TypeShape},
};
use smol_str::SmolStr;

use crate::types::{ConnectionId, Ty, TypeRef, display, relation};

/// The graphs of a movement's connections.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    connections: Vec<Shapes<'a>>,
}

#[derive(Debug)]
struct Shapes<'a> {
    name: SmolStr,
    types: IndexMap<&'a str, &'a TypeShape>,
}

impl<'a> Graph<'a> {
    pub(super) fn add(&mut self, name: SmolStr, description: &'a Description) -> ConnectionId {
        let id = ConnectionId(u32::try_from(self.connections.len()).unwrap_or(u32::MAX));
        let types = description.types.iter().map(|shape| (shape.name.as_str(), shape)).collect();
        self.connections.push(Shapes { name, types });
        id
    }

    /// The name under which a connection is known in messages.
    pub(super) fn name(&self, id: ConnectionId) -> &str {
        self.connections.get(id.0 as usize).map_or("?", |shapes| shapes.name.as_str())
    }

    pub(super) fn find(&self, id: ConnectionId, name: &str) -> Option<&'a TypeShape> {
        self.connections.get(id.0 as usize)?.types.get(name).copied()
    }

    pub(super) fn shape(&self, of: &TypeRef) -> Option<&'a TypeShape> {
        self.find(of.connection, &of.ty)
    }

    /// Every type of a connection, in the system's order.
    pub(super) fn types(&self, id: ConnectionId) -> impl Iterator<Item = &'a TypeShape> {
        self.connections.get(id.0 as usize).into_iter().flat_map(|shapes| shapes.types.values().copied())
    }

    /// A type as a person writes it.
    pub(super) fn show(&self, ty: &Ty) -> String {
        display::show(ty, &|id| self.name(id).to_owned())
    }

    /// `crm-[:Company]->`
    pub(super) fn show_position(&self, of: &TypeRef) -> String {
        display::position(of, &|id| self.name(id).to_owned())
    }
}

/// The type of a field as it is read.
pub(super) fn read_type(field: &Field) -> Ty {
    let ty = Ty::from(&field.ty);
    if field.optional { ty.optional() } else { ty }
}

/// The type of a field as it is read off the handle of a write: what the answer holds, and what was written.
pub(super) fn handle_type(field: &Field) -> Ty {
    if field.readable {
        return read_type(field);
    }
    let ty = Ty::from(&field.ty);
    if field.required { ty } else { ty.optional() }
}

impl relation::Graph for Graph<'_> {
    fn field(&self, of: &TypeRef, handle: bool, name: &str) -> Option<Ty> {
        let field = self.shape(of)?.field(name);
        match field {
            // Whether it was written as text or as a file is known to that write alone.
            Some(field) if handle && field.takes_file && !field.readable => None,
            Some(field) if handle => Some(handle_type(field)),
            Some(field) => field.readable.then(|| read_type(field)),
            None => (handle && name == CREATED).then_some(Ty::Boolean),
        }
    }
}

/// The field of every handle that says whether the record is new; a type's own field of that name wins.
pub(super) const CREATED: &str = "created";
