use myriad_conf::model::{LocationConf, RewriteStep};

use super::settings::HeaderSettings;
use crate::testing::{model, server};
use myriad_exchange::runtime::ExpiresRule;

fn of(location: &LocationConf) -> &HeaderSettings {
    location.settings.feature()
}

fn names(location: &LocationConf) -> String {
    of(location).add.iter().map(|field| field.name.lossy().into_owned()).collect()
}

#[test]
fn fields_are_inherited_whole_or_not_at_all() {
    let server = server(
        super::FEATURE.family,
        "add_header A 1; add_header B 2 always; location /keep { } location /own { add_header C 3; }",
    );
    let (keep, own) = (&server.locations[0], &server.locations[1]);
    assert_eq!((names(keep), names(own)), ("AB".to_owned(), "C".to_owned()));
    assert_eq!(of(keep).add.iter().map(|field| field.always).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn added_headers_follow_add_header_inherit() {
    let server = server(
        super::FEATURE.family,
        "add_header A 1;
         location /merge { add_header_inherit merge; add_header B 2;
             location /merge/deeper { add_header C 3; }
             location /merge/bare { } }
         location /off { add_header_inherit off; add_header B 2;
             location /off/bare { } }
         location /none { add_header_inherit off; add_trailer T 1; }
         location /late { add_header B 2; add_header_inherit merge; }",
    );
    let [merge, off, none, late] = &server.locations[..] else { panic!("four locations") };
    assert_eq!((names(merge), names(late)), ("BA".to_owned(), "BA".to_owned()));
    assert_eq!((names(&merge.locations[0]), names(&merge.locations[1])), ("CBA".to_owned(), "BA".to_owned()));
    assert_eq!(
        (names(off), names(&off.locations[0]), names(none)),
        ("B".to_owned(), String::new(), String::new())
    );
    assert_eq!(of(none).trailers.iter().count(), 1);
}

#[test]
fn an_if_lays_its_fields_over_those_of_its_location() {
    let server = server(
        super::FEATURE.family,
        "location / { add_header A 1; root /r; expires 1h; if ($a) { add_header B 2; } if ($b) { set $c 1; } }",
    );
    let location = &server.locations[0];
    let steps = location.rewrite.iter();
    let blocks: Vec<_> =
        steps.filter_map(|step| if let RewriteStep::If(block) = step { Some(block) } else { None }).collect();
    let settings = |index: usize| blocks[index].settings.feature::<HeaderSettings>();
    assert_eq!(settings(0).add.iter().next().unwrap().name.bytes(), b"B");
    assert_eq!(settings(0).expires, of(location).expires);
    assert_eq!(blocks[0].settings.content.root.bytes(), b"/r");
    assert!(blocks[0].changes_settings && !blocks[1].changes_settings);
    assert_eq!(settings(1).add.iter().next().unwrap().name.bytes(), b"A");
}

#[test]
fn expires_has_every_form() {
    let parsed_expires = |args: &str| {
        let server = server(super::FEATURE.family, &format!("expires {args};"));
        server.settings.feature::<HeaderSettings>().expires.clone()
    };
    for (args, expected) in [
        ("off", ExpiresRule::Off),
        ("epoch", ExpiresRule::Epoch),
        ("max", ExpiresRule::Max),
        ("1y", ExpiresRule::Access(31_536_000)),
        ("-1", ExpiresRule::Access(-1)),
        ("+24h", ExpiresRule::Access(86_400)),
        ("modified +1h", ExpiresRule::Modified(3600)),
        ("@15h30m", ExpiresRule::Daily(55_800)),
    ] {
        assert_eq!(parsed_expires(args), expected, "{args}");
    }
    assert!(matches!(parsed_expires("modified $e"), ExpiresRule::Variable { modified: true, .. }));
    for wrong in ["@25h", "modified max", "1ms", "+", "-x", "modified @1h"] {
        assert!(model(super::FEATURE.family, &format!("expires {wrong};")).is_err(), "{wrong}");
    }
}
