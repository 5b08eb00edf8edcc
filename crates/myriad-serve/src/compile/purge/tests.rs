use crate::testing::TestSite;

const PASS: &str = "proxy_pass http://127.0.0.1:1;";

/// Returns the number of purges that requests to a server may make, whatever location they match.
fn purges(server: &str) -> usize {
    let http = "proxy_cache_path /nowhere/cache keys_zone=z:1m; proxy_cache z;";
    let exchange = TestSite::new(http, server).exchange("/", &[]);
    exchange.request.site.runtime.server(0).purges.len()
}

#[test]
fn rule_that_places_inherit_is_one() {
    let places = format!("location /a {{ {PASS} }} location /b {{ {PASS} }} location /c {{ return 204; }}");
    assert_eq!(purges(&places), 0);
    assert_eq!(purges(&format!("proxy_cache_purge PURGE from 127.0.0.1; location /a {{ {PASS} }}")), 1);
    assert_eq!(purges(&format!("proxy_cache_purge PURGE; {places}")), 1);
}

#[test]
fn location_with_access_rules_is_not_purged_through_another() {
    let server = |rules: &str| {
        format!("proxy_cache_purge PURGE; location /a {{ {PASS} }} location /b {{ {PASS} {rules} }}")
    };
    assert_eq!(purges(&server("")), 1);
    for rules in [
        "allow 192.0.2.1; deny all;",
        "auth_basic closed; auth_basic_user_file users;",
        "auth_request /who;",
        "limit_except GET { deny all; }",
        "if ($arg_key != right) { return 403; }",
        "set_real_ip_from 192.0.2.1;",
    ] {
        assert_eq!(purges(&server(rules)), 0, "{rules}");
    }
    assert_eq!(purges(&server("set $a b;")), 1, "`set` does not restrict access");
}
