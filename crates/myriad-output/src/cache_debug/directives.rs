//! The directive.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, Set, at_least, network};
use myriad_conf::settings::Settings;

use super::settings::CacheDebug;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "cache_debug",
    Contexts::HSL,
    at_least(1),
    Set::Settings(cache_debug),
    "Fields that say what the cache did: X-Cache, X-Cache-Age; the key for who asks and may know.",
)
.default("off")
.own()];

/// `cache_debug on|off [from ADDRESS...]`.
fn cache_debug(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let on = args.choice(0, &[("on", true), ("off", false)])?;
    let mut from = None;
    if args.len() > 1 {
        if !on || args.bytes(1) != b"from" || args.len() == 2 {
            let wanted = "\"from\" and who may see keys: addresses, networks or \"all\"";
            return Err(args.invalid(1, wanted));
        }
        let networks = from.insert(Vec::new());
        for index in 2..args.len() {
            let word = args.bytes(index).to_vec();
            networks.push(network(args, index, &word)?);
        }
    }
    *settings.feature_mut() = CacheDebug { on, from };
    Ok(())
}
