//! A world whose answers depend on the request alone.

use lf_module::{Value, call::Origin};

use super::build::{num, record, written};
use crate::run::{Request, Settlement};

pub(super) fn answer(request: &Request) -> Settlement {
    let Request::Read { ty, origin, .. } = request else {
        return written("note", Some("n"), &[("text", "done".into())]);
    };
    let (seed, rows) = match origin {
        Origin::Root => (1_u32, 3),
        Origin::Record { key, .. } => {
            let seed = key.0.bytes().fold(7_u32, |seed, byte| seed.wrapping_mul(31).wrapping_add(u32::from(byte)));
            (seed, seed % 3)
        }
    };
    let row = |index: u32| {
        let mixed = seed.wrapping_mul(2_654_435_761).wrapping_add(index.wrapping_mul(40_503)) >> 7;
        let key = format!("k{}", mixed % 5);
        let mut fields = vec![("Age", num(&(mixed % 4).to_string())), ("Name", format!("p{}", mixed % 3).into())];
        if mixed % 2 == 0 {
            fields.push(("Nick", Value::from("nick")));
        }
        record("c", ty, Some(&key), &fields)
    };
    Settlement::Records((0..rows).map(row).collect())
}

/// The same world, which looks at the pins and at what is looked up.
pub(super) fn pinned(request: &Request) -> Settlement {
    let mut settlement = answer(request);
    if let (Settlement::Records(records), Request::Read { pins, by, .. }) = (&mut settlement, request) {
        let asked =
            |record: &Value| pins.iter().chain(by.iter()).all(|(name, value)| record.field(name) == Some(value));
        records.retain(asked);
    }
    settlement
}
