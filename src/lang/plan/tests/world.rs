//! A world that is exactly as the catalog describes it, out of a seed.

use std::sync::Arc;

use lf_module::{
    FieldType, Key, Position, Record, Value, json,
    schema::{Count, TypeShape},
};

use crate::{
    check::{Catalog, catalog::Described},
    plan::Plan,
    run::{Request, Settlement, io::Target},
    types::ConnectionId,
};
use lf_module::call::Origin;

pub(super) struct World<'w> {
    pub(super) plan: &'w Plan,
    pub(super) catalog: &'w Catalog,
    pub(super) seed: u32,
}

impl World<'_> {
    fn shape(&self, connection: ConnectionId, ty: &str) -> &TypeShape {
        let key = &self.plan.connection(connection).unwrap().key;
        let Described::Yes(description) = &self.catalog.connections[key] else { panic!("described") };
        description.get(ty).unwrap()
    }

    fn mix(&self, salt: &str, index: u32) -> u32 {
        let start = self.seed.wrapping_mul(2_654_435_761).wrapping_add(index.wrapping_mul(97));
        let mixed = salt.bytes().fold(start, |mixed, byte| (mixed ^ u32::from(byte)).wrapping_mul(16_777_619));
        (mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519) >> 9
    }

    fn value(&self, ty: &FieldType, salt: &str, index: u32) -> Value {
        let mixed = self.mix(salt, index);
        match ty {
            FieldType::Text => format!("{salt} {}", mixed % 7).into(),
            FieldType::Number => Value::from(i64::from(mixed % 15)),
            FieldType::Boolean => mixed.is_multiple_of(2).into(),
            FieldType::Date => json::decode("{\"$date\":\"2026-01-05\"}").unwrap(),
            FieldType::Datetime => json::decode("{\"$at\":\"2026-01-04T23:30:00Z\"}").unwrap(),
            FieldType::Duration => json::decode("{\"$for\":\"PT1H\"}").unwrap(),
            FieldType::File => json::decode(r#"{"$file":["crm","t","a.txt",null,null,3]}"#).unwrap(),
            FieldType::Json if mixed.is_multiple_of(3) => Value::Absent,
            FieldType::Json => {
                let text = format!("{{\"score\":{},\"tags\":[\"b\",\"a\",\"b\"],\"since\":\"2026-01-01\"}}", mixed % 5);
                json::decode(&text).unwrap()
            }
            FieldType::Choice(members) => members[mixed as usize % members.len()].as_str().into(),
            FieldType::List(inner) => Value::list((0..mixed % 3).map(|index| self.value(inner, salt, index)).collect()),
        }
    }

    pub(super) fn record(&self, connection: ConnectionId, ty: &str, index: u32) -> Value {
        let shape = self.shape(connection, ty);
        let mut fields = Record::new();
        for field in shape.fields.iter().filter(|field| field.readable) {
            let there = !(field.optional || field.doubtful) || !self.mix(&field.name, index + 100).is_multiple_of(3);
            if there {
                fields.set(field.name.clone(), self.value(&field.ty, &field.name, index));
            }
        }
        let key = shape.key.as_ref().map(|key| {
            let value: Value = format!("{}{index}", ty.to_lowercase()).into();
            fields.set(key.clone(), value.clone());
            Key(value.as_text().unwrap().into())
        });
        let connection = self.plan.connection(connection).unwrap().key.as_str().into();
        Value::Position(Arc::new(Position { connection, ty: ty.into(), key, fields }))
    }

    pub(super) fn answer(&self, connection: ConnectionId, request: &Request) -> Settlement {
        match request {
            Request::Read { ty, origin, pins, by: _ } => {
                let (count, salt) = match origin {
                    Origin::Root => (self.shape(connection, ty).count, ty.as_str()),
                    Origin::Record { ty: owner, edge, key } => {
                        (self.shape(connection, owner).edge(edge).unwrap().count, key.0.as_str())
                    }
                };
                let rows = match count {
                    Count::One => 1,
                    Count::Optional => self.mix(salt, 0) % 2,
                    Count::Many => self.mix(salt, 0) % 4,
                };
                let row = |index| {
                    let Value::Position(record) = self.record(connection, ty, index) else { panic!("a record") };
                    let mut record = Arc::unwrap_or_clone(record);
                    for (name, value) in pins.iter() {
                        record.fields.set(name.clone(), value.clone());
                    }
                    Value::Position(Arc::new(record))
                };
                Settlement::Records((0..rows).map(row).collect())
            }
            Request::Write(write) => {
                let Value::Position(answer) = self.record(connection, &write.ty, 9) else { panic!("a record") };
                let mut handle = Arc::unwrap_or_clone(answer);
                if let Target::Update { key } = &write.target {
                    handle.key = Some(key.clone());
                }
                for entry in &write.entries {
                    if handle.fields.get(&entry.field).is_none() {
                        handle.fields.set(entry.field.clone(), entry.value.clone());
                    }
                }
                let created = matches!(write.target, Target::Create { .. }) && self.seed % 2 == 1;
                Settlement::Written { handle: Value::Position(Arc::new(handle)), created, unchanged: false }
            }
            Request::Delete { .. } => Settlement::Deleted,
            Request::Link { .. } => Settlement::Linked,
        }
    }
}

pub(super) fn change() -> Value {
    json::decode("{\"kind\":\"updated\",\"fields\":[\"Name\"],\"at\":{\"$at\":\"2026-01-05T09:00:00Z\"}}").unwrap()
}

/// One line of what is asked for.
pub(super) fn show(request: &Request) -> String {
    match request {
        Request::Read { ty, origin, pins, by } => {
            let mut pins = json::plain(&Value::record(pins.clone()));
            if !by.is_empty() {
                pins = format!("{pins} by {}", json::plain(&Value::record(by.clone())));
            }
            match origin {
                Origin::Root => format!("read {ty} {pins}"),
                Origin::Record { ty: owner, key, edge } => format!("read {owner} {key} {edge} {pins}"),
            }
        }
        Request::Write(write) => {
            let target = match &write.target {
                Target::Create { origin: Origin::Root } => "create".to_owned(),
                Target::Create { origin: Origin::Record { ty, key, edge } } => {
                    format!("create under {ty} {key} by {edge}")
                }
                Target::Update { key } => format!("update {key}"),
            };
            let entries = write.entries.iter().map(|entry| format!("{}={}", entry.field, json::plain(&entry.value)));
            let unique: Vec<_> = write.unique.iter().map(|by| json::plain(&Value::record(by.clone()))).collect();
            format!("{target} {} {} {}", write.ty, entries.collect::<Vec<_>>().join(" "), unique.join(" "))
                .trim_end()
                .to_owned()
        }
        Request::Delete { ty, key } => format!("delete {ty} {key}"),
        Request::Link { tie, join } => {
            format!("{} {} {} by {} {}", if *join { "link" } else { "unlink" }, tie.ty, tie.key, tie.edge, tie.to)
        }
    }
}
