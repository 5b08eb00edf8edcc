use crate::testing::TestSite;
use crate::testing::send_request;

#[test]
fn only_trusted_proxy_sets_client_address() {
    let fields = [("X-Forwarded-For", "198.51.100.7, 192.0.2.1"), ("X-Real-IP", "203.0.113.9")];
    let address_for = |rules: &str| {
        send_request(
            &TestSite::new("", &format!("{rules} location / {{ return 200 $remote_addr; }}")),
            "GET /",
            &fields,
        )
        .text
    };
    assert_eq!(address_for("set_real_ip_from 127.0.0.1;"), "203.0.113.9");
    assert_eq!(address_for("set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;"), "192.0.2.1");
    let trusting =
        "set_real_ip_from 127.0.0.1; set_real_ip_from 192.0.2.0/24; real_ip_header X-Forwarded-For;";
    assert_eq!(address_for(&format!("{trusting} real_ip_recursive on;")), "198.51.100.7");
    assert_eq!(address_for("set_real_ip_from 10.0.0.0/8;"), "127.0.0.1");
    assert_eq!(address_for("set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol;"), "127.0.0.1");
}

#[test]
fn address_is_taken_once_and_by_a_location_where_the_server_has_no_rules() {
    let site = TestSite::new(
        "",
        "location / { set_real_ip_from 127.0.0.1; allow 192.0.2.1; deny all; return 200 unreached; }
         location /own { set_real_ip_from 127.0.0.1; allow 192.0.2.1; deny all; root /nowhere; }",
    );
    assert_eq!(
        send_request(&site, "GET /own", &[("X-Real-IP", "192.0.2.1")]).status,
        404,
        "admitted, but there is no file"
    );
    assert_eq!(send_request(&site, "GET /own", &[("X-Real-IP", "192.0.2.2")]).status, 403);
    assert_eq!(send_request(&site, "GET /own", &[]).status, 403);
}

#[test]
fn visitor_by_http_is_led_to_the_same_page_by_https() {
    let site = TestSite::new("", "server_name a.test; https_only on port=8443; return 200 reached;");
    let reached = send_request(&site, "GET /a%20b?c=d", &[("Host", "a.test:8080")]);
    assert_eq!((reached.status, reached.location()), (301, Some("https://a.test:8443/a%20b?c=d")));
    let reached = send_request(&site, "POST /form", &[("Host", "a.test")]);
    assert_eq!((reached.status, reached.location()), (308, Some("https://a.test:8443/form")));
}

#[test]
fn challenge_of_an_authority_is_answered_by_http() {
    let site = TestSite::new("", "https_only on port=8443; return 200 reached;");
    let asked = |target: &str| send_request(&site, &format!("GET {target}"), &[("Host", "a.test")]).status;
    assert_eq!(asked("/.well-known/acme-challenge/token"), 200);
    assert_eq!(asked("/.well-known/other"), 301);
}
