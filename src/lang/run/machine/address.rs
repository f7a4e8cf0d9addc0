//! Addresses: which effect of a run, in text that stays the same over a replay.
//!
//! `triage/[42]/call remind/write crm.Company~2`: calls and the step by label (unique in its function), iterations by
//! record key, by index where there is none. A key that comes twice in one loop carries its occurrence (`[42~2]`), so
//! that one more row elsewhere moves nobody's address. Lines and columns take no part.

use std::{collections::HashMap, fmt::Write as _};

use lf_module::value::Value;
use sha2::{Digest as _, Sha256};
use smol_str::{SmolStr, ToSmolStr as _};

use crate::{
    plan::escape,
    run::{
        eval::damaged,
        io::{Address, Failure},
        state::RunState,
    },
};

/// Bytes that an address may have; a longer one ends in its hash.
const LONGEST: usize = 400;

/// The address of the step called `label` where the run stands.
pub(super) fn of(state: &mut RunState, label: &str) -> Result<Address, Failure> {
    let Some(frame) = state.frames.last_mut() else { return Err(damaged("no call is open")) };
    let mut text = frame.prefix.to_string();
    for each in frame.open.iter_mut().filter_map(|open| open.each.as_mut()) {
        if each.names.is_empty() {
            each.names = names(&each.items);
        }
        text.push('[');
        text.push_str(each.names.get(each.index).map(SmolStr::as_str).unwrap_or_default());
        text.push_str("]/");
    }
    text.push_str(label);
    Ok(Address(bounded(text)))
}

fn names(items: &[Value]) -> Vec<SmolStr> {
    let mut seen: HashMap<SmolStr, u32> = HashMap::new();
    let name = |(index, item): (usize, &Value)| {
        let key = if let Value::Position(position) = item { position.key.as_ref() } else { None };
        let Some(key) = key else { return format!("#{index}").into() };
        let key: SmolStr = escape(&key.0).into();
        let count = seen.entry(key.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { key } else { format!("{key}~{count}").to_smolstr() }
    };
    items.iter().enumerate().map(name).collect()
}

fn bounded(text: String) -> SmolStr {
    if text.len() <= LONGEST {
        return text.into();
    }
    let head: String = text.chars().take(LONGEST / 4).collect();
    let mut hex = String::new();
    for byte in Sha256::digest(text.as_bytes()).iter() {
        let _never_fails = write!(hex, "{byte:02x}");
    }
    format!("{head}…{hex}").into()
}
