//! Directives `valid_referers`, `referer_hash_bucket_size` and `referer_hash_max_size`.

use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;

use super::settings::RefererSettings;

const WHERE: Contexts = Contexts::SERVER.or(Contexts::LOCATION);
const HASH: &str = "hash tables are sized automatically";

pub(crate) static ROWS: &[Directive] = &[
    Directive::new(
        "valid_referers",
        WHERE,
        at_least(1),
        Set::Settings(valid_referers),
        "Valid referers, for `$invalid_referer`.",
    )
    .repeats(),
    Directive::new("referer_hash_max_size", WHERE, ONE, Set::Nothing, "Tunes internals of nginx.")
        .no_effect(HASH),
    Directive::new("referer_hash_bucket_size", WHERE, ONE, Set::Nothing, "Tunes internals of nginx.")
        .no_effect(HASH),
];

fn valid_referers(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let referers = settings.feature_mut::<RefererSettings>();
    if args.first {
        *referers = RefererSettings::default();
    }
    referers.at = args.node.span;
    for index in 0..args.len() {
        match args.bytes(index) {
            b"" | b"~" => {
                return Err(args
                    .error(index, "invalid referer: the text is empty")
                    .help("write a host or `~regex`"));
            }
            b"none" => referers.none = true,
            b"blocked" => referers.blocked = true,
            b"server_names" => referers.server_names = true,
            _ => referers.words.push(args.text(index)?),
        }
    }
    Ok(())
}
