//! Tests of defaults: an empty configuration has the same meaning as one that contains the documented default of each
//! directive.

use std::path::Path;

use myriad_cache::device_class::DeviceClass;
use myriad_cache::settings::{CacheRules, CacheSettings};
use myriad_cache::shared_fetch::SharedFetchSettings;
use myriad_conf::{
    MemoryLoader, Model, build, defaults,
    registry::{Contexts, DefaultValue, Directive},
};
use myriad_policy::CachePolicy;
use myriad_serve::registry;

/// Builds a configuration that contains `text` in a block of `context`; nowhere for `None`. Returns its model as text,
/// and the configuration.
fn with(context: Option<Contexts>, text: &str) -> (String, String) {
    let at = |wanted: Contexts| if context == Some(wanted) { text } else { "" };
    let text = format!(
        "{} events {{ {} }} http {{ {} server {{ {} }} server {{ location / {{ {} }} }}
         upstream u {{ server 127.0.0.1; {} }}
         acme_issuer i {{ uri https://a.test/directory; {} }} }}",
        at(Contexts::MAIN),
        at(Contexts::EVENTS),
        at(Contexts::HTTP),
        at(Contexts::SERVER),
        at(Contexts::LOCATION),
        at(Contexts::UPSTREAM),
        at(Contexts::ACME_ISSUER),
    );
    let parsed =
        registry().parse(&MemoryLoader::with("/nginx.conf", text.as_str()), Path::new("/nginx.conf"), b"");
    let model = build(&parsed, registry()).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    (shown(model), text)
}

/// Returns the text of a model, without positions in the file.
fn shown(model: Model) -> String {
    let shown = format!("{:#?}", Model { warnings: Vec::new(), ..model });
    let is_place = |line: &&str| {
        let line = line.trim_start();
        !["start: ", "end: "].iter().any(|name| line.starts_with(name))
    };
    shown.lines().filter(is_place).collect::<Vec<_>>().join("\n")
}

fn texts() -> impl Iterator<Item = (&'static Directive, &'static str)> {
    registry().directives().iter().filter_map(|directive| match directive.default {
        DefaultValue::Text(text) => Some((directive, text)),
        DefaultValue::None | DefaultValue::Computed(_) => None,
    })
}

#[test]
fn a_default_that_is_written_changes_nothing() {
    let (unwritten, _) = with(None, "");
    let mut seen = 0;
    for (directive, text) in texts() {
        // The name would be defined twice.
        if directive.name == "log_format" {
            continue;
        }
        let written = if directive.arity.block {
            format!("{} {{ {text} }}", directive.name)
        } else {
            format!("{} {text};", directive.name)
        };
        let contexts = [
            Contexts::MAIN,
            Contexts::EVENTS,
            Contexts::HTTP,
            Contexts::SERVER,
            Contexts::LOCATION,
            Contexts::UPSTREAM,
            Contexts::ACME_ISSUER,
        ];
        for context in contexts.into_iter().filter(|context| directive.contexts.contains(*context)) {
            let (means, configuration) = with(Some(context), &written);
            assert!(means == unwritten, "{configuration}");
            seen += 1;
        }
    }
    assert!(seen > 400, "{seen}");
}

#[test]
fn flag_directives_default_to_on_or_off() {
    for directive in registry().directives().iter().filter(|directive| directive.arity.flag) {
        if let DefaultValue::Text(text) = directive.default {
            assert!(["on", "off"].contains(&text), "{}", directive.name);
        }
    }
}

#[test]
fn what_holds_at_the_outermost_level_is_what_an_empty_configuration_means() {
    let parsed =
        registry().parse(&MemoryLoader::with("/nginx.conf", "http { }"), Path::new("/nginx.conf"), b"");
    let http = build(&parsed, registry()).expect("a valid configuration").http.expect("a block");
    assert_eq!(format!("{:?}", http.settings), format!("{:?}", defaults(registry())));
    let [combined, json] = &http.log_formats[..] else { panic!("two formats") };
    assert!(combined.name == "combined" && json.name == "json");
    assert_eq!(
        combined.format.lossy(),
        "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
         \"$http_referer\" \"$http_user_agent\""
    );
}

#[test]
fn the_policy_begins_with_what_an_empty_configuration_means() {
    let (rules, own) = (CachePolicy::default(), defaults(registry()));
    // Responses of gRPC are not cached, so it has no cache directives.
    let names: Vec<_> = registry().directives().iter().map(|directive| directive.name.clone()).collect();
    let has_cache = |prefix: &str| names.iter().any(|name| *name == format!("{prefix}cache"));
    for protocol in registry().protocols().filter(|protocol| has_cache(protocol.prefix())) {
        let origin = defaults(registry()).origin(protocol);
        let cache = origin.own::<CacheSettings>();
        assert!(cache.valid.is_empty() && rules.valid.is_empty());
        assert_eq!((cache.methods, cache.min_uses), (rules.methods, rules.min_uses));
        assert_eq!((cache.use_stale, cache.stale), (rules.use_stale, rules.grace));
        assert_eq!(
            (cache.lock.then_some(cache.lock_rules), cache.invalidate),
            (rules.lock, rules.invalidate)
        );
        assert_eq!((cache.background_update, cache.revalidate), (rules.background_update, rules.revalidate));
        assert_eq!((origin.answer.ignore, &cache.negative), (rules.ignore, &rules.negative));
    }
    let (rfc9111, device_class) = (own.feature::<CacheRules>().rfc9111, own.feature::<DeviceClass>().on);
    assert_eq!((rfc9111, device_class), (rules.rfc9111, rules.device_class));
    assert_eq!(own.feature::<SharedFetchSettings>().on, rules.shared_fetch.on);
}

#[test]
fn what_protects_visitors_and_the_server_is_on_where_nothing_is_written() {
    let settings = defaults(registry());
    assert!(settings.feature::<CacheRules>().personal_cookies.builtin);
    assert_eq!(settings.client.max_body_size, 1 << 20);
    assert!(settings.client.body_timeout > 0 && settings.client.header_timeout > 0);
}
