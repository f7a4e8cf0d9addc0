//! A description leads nowhere but to what is in it, and is the same twice.

use lf_module::{Description, FieldType, TypeShape, schema::Pin};
use smol_str::SmolStr;

use super::{Trial, twice};

pub(super) async fn check(trial: &mut Trial<'_>, description: &Description) {
    let kept = match twice(description.types.iter().map(|shape| &shape.name)) {
        Some(name) => Err(format!("`{name}` stands twice")),
        None => Ok(()),
    };
    trial.report.promise("types have names of their own", kept);
    for shape in &description.types {
        let kept = whole(shape, description).map_or(Ok(()), Err);
        trial.report.promise(format!("`{}` is described as a whole", shape.name), kept);
    }
    let again = trial.connection.describe(&trial.call()).await;
    let kept = match again {
        Ok(again) if again == *description => Ok(()),
        Ok(_) => Err("the second description differs".to_owned()),
        Err(error) => Err(error.message),
    };
    trial.report.promise("a description is the same twice", kept);
    trial.show(description);
    let raw = trial.connection.raw(&trial.call()).await;
    trial.show(&raw);
    trial.report.promise("the system's own words can be had", raw.map(drop).map_err(|error| error.message));
}

/// What is wrong with the shape, if anything.
fn whole(shape: &TypeShape, description: &Description) -> Option<String> {
    if let Some(name) = twice(shape.fields.iter().map(|field| &field.name)) {
        return Some(format!("the field `{name}` stands twice"));
    }
    if let Some(name) = twice(shape.edges.iter().map(|edge| &edge.name)) {
        return Some(format!("the edge `{name}` stands twice"));
    }
    let pins = |pins: &[Pin]| pins.iter().map(|pin| pin.field.clone()).collect::<Vec<SmolStr>>();
    let mut named = vec![("key", shape.key.iter().cloned().collect::<Vec<_>>()), ("pin", pins(&shape.pins))];
    named.extend(shape.find_by.iter().map(|set| ("find_by", set.clone())));
    named.extend(shape.listenable.iter().map(|listening| ("pin of a listen", pins(&listening.pins))));
    for (what, names) in &named {
        if let Some(name) = names.iter().find(|name| shape.field(name).is_none()) {
            return Some(format!("the {what} `{name}` is no field"));
        }
        if let Some(name) = twice(names.iter()) {
            return Some(format!("the {what} `{name}` stands twice"));
        }
    }
    if let Some(edge) = shape.edges.iter().find(|edge| description.get(&edge.target).is_none()) {
        return Some(format!("the edge `{}` leads to `{}`, which is not described", edge.name, edge.target));
    }
    if !shape.edges.is_empty() && shape.key.is_none() {
        return Some("it has edges, but no key to walk from".to_owned());
    }
    if (shape.updatable || shape.deletable || shape.listenable.is_some()) && shape.key.is_none() {
        return Some("its records change, but it has no key to tell them apart".to_owned());
    }
    for (what, name) in named.iter().flat_map(|(what, names)| names.iter().map(move |name| (what, name))) {
        if shape.field(name).is_some_and(|field| field.ty == FieldType::File) {
            return Some(format!("the {what} `{name}` is a file, which tells nothing apart"));
        }
    }
    for field in &shape.fields {
        if field.takes_file && !(field.writable && field.ty == FieldType::Text) {
            return Some(format!("`{}` takes a file, but is no text that is written", field.name));
        }
        if matches!(&field.ty, FieldType::Choice(members) if members.is_empty()) {
            return Some(format!("`{}` is a choice of nothing", field.name));
        }
        if field.required && !field.writable {
            return Some(format!("`{}` must be written and cannot", field.name));
        }
        if field.clearable && !field.optional {
            return Some(format!("`{}` can be emptied, but is never absent", field.name));
        }
    }
    None
}
