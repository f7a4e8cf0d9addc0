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
    assert!(near("http://169.254.169.254/latest").is_err());
    assert!(near("http://0xa9fea9fe/").is_err(), "other spellings of the same address too");
    assert!(near("http://127.0.0.1:8080/").is_ok());
    assert!(near("https://example.com/").is_ok());
}

fn near(text: &str) -> Result<(), String> {
    literal(&text.parse().unwrap(), Reach { link_local: false, public: false })
}

#[test]
fn what_a_system_on_the_net_names_does_not_lead_into_the_house() {
    let public = Reach { link_local: false, public: true };
    for inside in ["127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "100.64.0.1", "0.0.0.0", "[::1]", "[fd00::1]"]
    {
        assert!(literal(&format!("https://{inside}/").parse().unwrap(), public).is_err(), "{inside}");
    }
    for outside in ["203.0.113.9", "[2001:db8::1]", "172.32.0.1", "100.63.0.1", "example.com"] {
        assert!(literal(&format!("https://{outside}/").parse().unwrap(), public).is_ok(), "{outside}");
    }
    let everywhere = Reach { link_local: true, public: false };
    assert!(literal(&"http://169.254.169.254/".parse().unwrap(), everywhere).is_ok());
}
