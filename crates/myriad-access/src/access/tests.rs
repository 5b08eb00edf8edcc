use super::settings::{AccessRule, AccessSettings, Satisfy};
use crate::testing::server;

/// Returns the rules of a server with these directives.
fn rules(directives: &str) -> Vec<AccessRule> {
    server(super::FEATURE.family, directives).settings.feature::<AccessSettings>().rules.clone()
}

#[test]
fn access_rules_hold_networks() {
    let written = rules("deny 10.1.0.0/16; allow unix:; allow 2001:db8::/32; deny all;");
    assert!(written[0].network.contains(Some("10.1.255.255".parse().unwrap())));
    assert!(written[0].network.contains(Some("::ffff:10.1.0.1".parse().unwrap())));
    assert!(!written[0].network.contains(Some("10.2.0.0".parse().unwrap())));
    assert!(!written[0].network.contains(None) && written[1].network.contains(None));
    assert!(written[2].network.contains(Some("2001:db8::1".parse().unwrap())));
    assert!(!written[2].network.contains(Some("2001:db9::1".parse().unwrap())));
    assert!(written[3].network.contains(None) && !written[3].allow);
    assert!(rules("allow 0.0.0.0/0;")[0].network.contains(Some("1.2.3.4".parse().unwrap())));
}

#[test]
fn rules_are_inherited_whole_or_not_at_all() {
    let server = server(
        super::FEATURE.family,
        "allow 10.0.0.1; deny all; location /keep { } location /own { allow all; }",
    );
    let counts = server.locations.iter().map(|at| at.settings.feature::<AccessSettings>().rules.len());
    assert_eq!(counts.collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn rules_for_other_methods_leave_those_of_the_location_alone() {
    let server = server(super::FEATURE.family, "location / { limit_except GET { deny all; } }");
    let location = &server.locations[0];
    let of_others = location.limit_except.as_ref().unwrap().settings.feature::<AccessSettings>();
    let own = location.settings.feature::<AccessSettings>();
    assert_eq!((of_others.rules.len(), own.rules.len()), (1, 0));
    assert_eq!(of_others.satisfy, Satisfy::All);
}
