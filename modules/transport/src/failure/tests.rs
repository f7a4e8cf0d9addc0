//! The classification as a table.

use super::*;

fn facts() -> Facts {
    Facts { why: "why".to_owned(), ..Facts::default() }
}

#[test]
fn each_combination_of_facts_has_its_failure() {
    let connect = Facts { connect: true, ..facts() };
    let why = || "why".to_owned();
    let table = [
        (Facts { refused: true, ..connect.clone() }, Failure::NeverConnected(Unreached::Refused, why())),
        (Facts { dns: true, ..connect.clone() }, Failure::NeverConnected(Unreached::NameNotFound, why())),
        (Facts { tls: true, ..connect.clone() }, Failure::Tls(why())),
        // A reset during the accept: no connection, and no proof either that nobody was there.
        (connect.clone(), Failure::NotConnected(why())),
        (Facts { timeout: true, ..connect.clone() }, Failure::Timeout(Phase::Connect)),
        (Facts { timeout: true, dns: true, ..connect }, Failure::Timeout(Phase::Connect)),
        (Facts { timeout: true, ..facts() }, Failure::Timeout(Phase::FirstByte)),
        // Refused somewhere else than in connecting says nothing about this request.
        (Facts { refused: true, ..facts() }, Failure::Lost(why())),
        (Facts { tls: true, ..facts() }, Failure::Lost(why())),
        (facts(), Failure::Lost(why())),
        (Facts { builder: true, ..facts() }, Failure::Unsendable(why())),
    ];
    for (facts, expected) in table {
        assert_eq!(classify(&facts), expected, "{facts:?}");
    }
}

#[test]
fn only_what_began_may_have_arrived() {
    assert!(Failure::Lost(String::new()).may_have_arrived());
    assert!(Failure::Timeout(Phase::FirstByte).may_have_arrived());
    assert!(!Failure::Timeout(Phase::Connect).may_have_arrived());
    assert!(!Failure::NeverConnected(Unreached::Refused, String::new()).may_have_arrived());
    assert!(!Failure::Tls(String::new()).may_have_arrived());
}
