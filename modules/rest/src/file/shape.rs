//! What the host is told of a type: what is declared, and nothing more.

use lf_module::{
    Field, Repeat,
    schema::{Count, How, Listening},
};

use crate::model::{Create, Follow, Type};

/// Fills in what follows from the requests; text, order, pins and edges are there already. `created`: by the type's own
/// request, or by an edge's.
pub(super) fn complete(ty: &mut Type, created: bool) {
    let updatable = ty.update.is_some();
    let mut lookups: Vec<Vec<_>> =
        ty.find_by.iter().map(|set| set.iter().map(|(field, _)| field.clone()).collect()).collect();
    if let (Some(key), Some(_)) = (&ty.key, &ty.get)
        && !lookups.contains(&vec![key.clone()])
    {
        lookups.push(vec![key.clone()]);
    }
    let shape = &mut ty.shape;
    shape.name.clone_from(&ty.name);
    shape.fields = ty
        .schema
        .properties
        .iter()
        .map(|property| Field {
            name: property.name.clone(),
            ty: property.ty.clone(),
            doc: property.doc.clone(),
            readable: !property.write_only,
            writable: (created || updatable) && !property.read_only,
            required: created && property.required && !property.read_only,
            optional: !property.required || property.nullable,
            doubtful: false,
            clearable: updatable && property.nullable && !property.read_only,
            takes_file: false,
        })
        .collect();
    shape.key.clone_from(&ty.key);
    shape.count = Count::Many;
    shape.readable = ty.list.is_some();
    shape.writable = ty.create.is_some();
    shape.updatable = updatable;
    shape.deletable = ty.delete.is_some();
    shape.listenable = ty.follow.as_ref().map(|follow| Listening {
        how: How::Poll,
        deletions: matches!(follow, Follow::List),
        every: ty.every,
        pins: shape.pins.clone(),
    });
    shape.find_by = lookups;
    shape.create_repeat = match &ty.create {
        Some(Create { one: _, idempotency: Some(_) }) => Repeat::ByKey,
        Some(Create { one: _, idempotency: None }) | None => Repeat::Never,
    };
}
