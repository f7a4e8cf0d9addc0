//! JSON from outside: what is read is written so that it is read again as the same.
#![no_main]

use lf_fuzz::Bound;
use lf_module::json;
use libfuzzer_sys::fuzz_target;

const BOUND: Bound = Bound { per_byte: 20_000, fixed: 100_000 };

fn read(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _stored = json::decode(text);
    }
    let Ok(value) = json::read(bytes) else { return };
    assert_eq!(json::read(json::plain(&value).as_bytes()).as_ref(), Ok(&value));
    assert_eq!(
        json::read(json::canonical(&value).as_bytes()).map(|again| json::canonical(&again)),
        Ok(json::canonical(&value))
    );
    assert_eq!(json::decode(&json::encode(&value)).as_ref(), Ok(&value));
}

fuzz_target!(|bytes: &[u8]| BOUND.keep(bytes.len(), || read(bytes)));
