//! Rows and parsers of the directives.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, between};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::database::Content;
use super::settings::{DatabaseConf, GeoipSettings};

const HTTP: Contexts = Contexts::HTTP;

/// Directives of the nginx module geoip.
pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "geoip_country",
        HTTP,
        between(1, 2),
        Set::Settings(|settings, args| database(settings, args, Content::Country)),
        "A database (`.dat`) of countries; `geoip2` reads newer ones.",
    ),
    Directive::new(
        "geoip_city",
        HTTP,
        between(1, 2),
        Set::Settings(|settings, args| database(settings, args, Content::City)),
        "A database (`.dat`) of cities; `geoip2` reads newer ones.",
    ),
    Directive::new(
        "geoip_org",
        HTTP,
        between(1, 2),
        Set::Settings(|settings, args| database(settings, args, Content::Organisation)),
        "A database (`.dat`) of organisations; `geoip2` reads newer ones.",
    ),
    Directive::new(
        "geoip_proxy",
        HTTP,
        ONE,
        Set::Settings(|settings, args| settings.feature_mut::<GeoipSettings>().proxies.add(args)),
        "Whom to believe about the client's address.",
    )
    .repeats(),
    Directive::new(
        "geoip_proxy_recursive",
        HTTP,
        FLAG,
        set!(Feature<GeoipSettings>.flag => proxies.recursive),
        "Whether trusted addresses in `X-Forwarded-For` are passed over.",
    )
    .default("off"),
];

fn database(settings: &mut Settings, args: &mut Arguments<'_>, content: Content) -> Done {
    let utf8 = args.len() > 1;
    if utf8 && args.bytes(1) != b"utf8" {
        return Err(args.invalid(1, "\"utf8\""));
    }
    let conf = DatabaseConf { content, path: args.text(0)?, utf8 };
    settings.feature_mut::<GeoipSettings>().databases.push(conf);
    Ok(())
}
