//! Addresses, one by one.

use super::*;

#[test]
fn metadata_and_link_local_are_blocked_and_a_teams_own_networks_are_not() {
    let table = [
        ("169.254.169.254", true),
        ("169.254.0.1", true),
        ("100.100.100.200", true),
        ("168.63.129.16", true),
        ("fe80::1", true),
        ("fd00:ec2::254", true),
        ("::ffff:169.254.169.254", true),
        ("64:ff9b::a9fe:a9fe", true),
        ("127.0.0.1", false),
        ("::1", false),
        ("10.0.0.8", false),
        ("192.168.1.4", false),
        ("fd00::1", false),
        ("203.0.113.9", false),
        ("2001:db8::1", false),
    ];
    for (address, expected) in table {
        assert_eq!(blocked(address.parse().unwrap()), expected, "{address}");
    }
}

#[test]
fn a_url_with_an_address_in_it_is_checked_before_anything_is_sent() {
    assert!(literal(&"http://169.254.169.254/latest".parse().unwrap()).is_err());
    assert!(literal(&"http://0xa9fea9fe/".parse().unwrap()).is_err(), "other spellings of the same address too");
    assert!(literal(&"http://127.0.0.1:8080/".parse().unwrap()).is_ok());
    assert!(literal(&"https://example.com/".parse().unwrap()).is_ok());
}
