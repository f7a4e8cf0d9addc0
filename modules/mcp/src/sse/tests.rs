//! Every case is parsed whole, byte by byte, and at every split point; the events must be the same.

use super::*;

fn event(data: &str) -> Event {
    Event { data: Some(data.to_owned()), ..Event::default() }
}

fn parse(pieces: &[&[u8]]) -> Vec<Event> {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(parser.feed(piece).unwrap());
    }
    events.extend(parser.finish());
    events
}

#[test]
fn every_split_gives_the_same_events() {
    let id = |id: &str| Event { id: Some(id.to_owned()), ..Event::default() };
    let cases: Vec<(&str, Vec<Event>)> = vec![
        ("data: x\n\n", vec![event("x")]),
        ("data:x\r\n\r\ndata: y\r\n\r\n", vec![event("x"), event("y")]),
        ("data: x\rdata: y\r\rdata: z\r\r", vec![event("x\ny"), event("z")]),
        ("\u{feff}data: x\n\n", vec![event("x")]),
        ("data: {\"a\":\ndata: \"é世😀\"}\n\n", vec![event("{\"a\":\n\"é世😀\"}")]),
        (": keep-alive\n\ndata: x\n\n", vec![event("x")]),
        ("id: e1\ndata\n\n", vec![Event { data: Some(String::new()), ..id("e1") }]),
        ("id: e1\n\ndata: x\n\n", vec![id("e1"), event("x")]),
        ("retry: 700\n\n", vec![Event { retry: Some(700), ..Event::default() }]),
        ("retry: 1x\ndata: x\n\n", vec![event("x")]),
        ("id: a\0b\ndata: x\n\n", vec![event("x")]),
        ("event: ping\ndata: 1\n\n", vec![Event { name: Some("ping".to_owned()), ..event("1") }]),
        ("event: nothing\n\n\n\n", vec![]),
        ("data:  two blanks\n\n", vec![event(" two blanks")]),
        ("nonsense\ndata: x\nother: y\n\n", vec![event("x")]),
        ("data: a:b:c\n\n", vec![event("a:b:c")]),
        ("data: whole", vec![event("whole")]),
        ("data: whole\n", vec![event("whole")]),
        ("data: x\n\ndata: \u{feff}y\n\n", vec![event("x"), event("\u{feff}y")]),
    ];
    for (text, expected) in cases {
        let bytes = text.as_bytes();
        assert_eq!(parse(&[bytes]), expected, "{text:?}");
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(parse(&single), expected, "{text:?} byte by byte");
        for at in 0..=bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(parse(&[left, right]), expected, "{text:?} split at {at}");
        }
    }
}

#[test]
fn a_block_without_end_is_given_up() {
    let mut parser = Parser { size: LARGEST - 2, ..Parser::default() };
    assert_eq!(parser.feed(b"\nx"), Ok(vec![]), "an empty block starts the count anew");
    let mut parser = Parser { size: LARGEST - 2, ..Parser::default() };
    assert_eq!(parser.feed(b"xx"), Ok(vec![]));
    assert_eq!(parser.feed(b"x"), Err(TooLarge(LARGEST)));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic_and_no_split_matters(
        bytes in proptest::collection::vec(proptest::prelude::prop_oneof![
            proptest::prelude::Just(b'\n'), proptest::prelude::Just(b'\r'), proptest::prelude::Just(b':'),
            proptest::prelude::Just(b'd'), proptest::prelude::any::<u8>(),
        ], 0..200),
        at in 0usize..200,
    ) {
        let (left, right) = bytes.split_at(at.min(bytes.len()));
        proptest::prop_assert_eq!(parse(&[&bytes]), parse(&[left, right]));
    }
}
