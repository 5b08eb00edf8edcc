use super::*;

#[test]
fn alternate_chains_are_found_in_links() {
    assert_eq!(alternate_url(b"<https://ca.test/1>;rel=\"alternate\""), Some("https://ca.test/1"));
    assert_eq!(alternate_url(b" <https://ca.test/2>; title=x; rel=alternate"), Some("https://ca.test/2"));
    for link in [&b"<https://ca.test/1>;rel=\"up\""[..], b"https://ca.test/1;rel=alternate", b"<x", b""] {
        assert_eq!(alternate_url(link), None);
    }
}

#[test]
fn only_names_of_the_order_are_answered_for() {
    let ordered = [AcmeIdentifier::Dns("a.test".into()), AcmeIdentifier::Ip([192, 0, 2, 1].into())];
    let of = |kind: &str, value: &str| {
        let state = json!({ "identifier": { "type": kind, "value": value } });
        identifier(&state, &ordered).ok().cloned()
    };
    assert_eq!(of("dns", "A.test").as_ref(), Some(&ordered[0]));
    assert_eq!(of("ip", "192.0.2.1").as_ref(), Some(&ordered[1]));
    for (kind, value) in
        [("dns", "b.test"), ("dns", "192.0.2.1"), ("ip", "a.test"), ("ip", "192.0.2.2"), ("dns", "")]
    {
        assert_eq!(of(kind, value), None, "{kind} {value}");
    }
    let error = identifier(&json!({ "identifier": { "type": "dns", "value": "b.test" } }), &ordered);
    assert!(error.unwrap_err().to_string().contains("\"b.test\", which was not ordered"));
    let error = identifier(&json!({}), &ordered).unwrap_err().to_string();
    assert!(error.ends_with("the authorization has no valid \"identifier\""), "{error}");
}

#[test]
fn tokens_are_of_the_alphabet_that_the_standard_gives_them() {
    assert!(is_token("aZ09-_"));
    for token in ["", "a/b", "a.b", "a b", "ä", &"x".repeat(257)] {
        assert!(!is_token(token), "{token}");
    }
}

#[test]
fn failed_challenge_is_reported_with_authority_detail_and_port() {
    let state = json!({ "status": "invalid", "challenges": [
        { "type": "dns-01" },
        { "type": "http-01", "error": { "detail": "Connection refused" } } ] });
    let error = validation_error(&state, "a.test", AcmeChallenge::Http01).to_string();
    assert!(error.contains("\"a.test\": Connection refused") && error.contains("port 80"), "{error}");
    let silent =
        validation_error(&json!({ "status": "expired" }), "a.test", AcmeChallenge::TlsAlpn01).to_string();
    assert!(silent.contains("has the status expired") && silent.contains("port 443"), "{silent}");
}
