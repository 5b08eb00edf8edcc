//! Directives `geoip_*`, and parsers of their arguments.

use myriad_conf::registry::{Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, between};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::database::GeoipContent;
use super::settings::{DatabaseConf, GeoipSettings};

const HTTP: Contexts = Contexts::HTTP;

/// Directives of the nginx module geoip.
pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "geoip_country",
        HTTP,
        between(1, 2),
        Set::Settings(|settings, args| database(settings, args, GeoipContent::Country)),
        "Country database (`.dat`); `geoip2` reads `.mmdb` files.",
    ),
    Directive::new(
        "geoip_city",
        HTTP,
        between(1, 2),
        Set::Settings(|settings, args| database(settings, args, GeoipContent::City)),
        "City database (`.dat`); `geoip2` reads `.mmdb` files.",
    ),
    Directive::new(
        "geoip_org",
        HTTP,
        between(1, 2),
        Set::Settings(|settings, args| database(settings, args, GeoipContent::Organisation)),
        "Organization database (`.dat`); `geoip2` reads `.mmdb` files.",
    ),
    Directive::new(
        "geoip_proxy",
        HTTP,
        ONE,
        Set::Settings(|settings, args| settings.feature_mut::<GeoipSettings>().proxies.add(args)),
        "Trusted proxies that may report the client address.",
    )
    .repeats(),
    Directive::new(
        "geoip_proxy_recursive",
        HTTP,
        FLAG,
        set!(Feature<GeoipSettings>.flag => proxies.recursive),
        "Skips trusted addresses in `X-Forwarded-For`.",
    )
    .default("off"),
];

fn database(settings: &mut Settings, args: &mut Arguments<'_>, content: GeoipContent) -> SetterResult {
    let utf8 = args.len() > 1;
    if utf8 && args.bytes(1) != b"utf8" {
        return Err(args.invalid(1, "\"utf8\""));
    }
    let conf = DatabaseConf { content, path: args.text(0)?, utf8 };
    settings.feature_mut::<GeoipSettings>().databases.push(conf);
    Ok(())
}
