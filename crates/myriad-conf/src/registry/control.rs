//! How a running server is inspected and told what to do.

use super::{Arguments, Contexts, Directive, Done, ONE, Set, at_least, network};
use crate::{
    model::{ControlSocket, MainConf},
    settings::{CacheDebug, Settings},
};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
    "control_socket",
    Contexts::MAIN,
    ONE,
    Set::Main(control_socket),
    "Socket that `myriad purge` and `myriad cache` speak to, or `off`; beside the pid file where nothing is written.",
)
.computed("beside the pid file")
.own(),
    Directive::new(
        "cache_debug",
        Contexts::HSL,
        at_least(1),
        Set::Settings(cache_debug),
        "Fields that say what the cache did: X-Cache, X-Cache-Age; the key for who asks and may know.",
    )
    .default("off")
    .own(),
];

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
    settings.cache_rules.debug = CacheDebug { on, from };
    Ok(())
}

fn control_socket(main: &mut MainConf, args: &mut Arguments<'_>) -> Done {
    main.control_socket =
        if args.bytes(0) == b"off" { ControlSocket::Off } else { ControlSocket::At(args.text(0)?) };
    Ok(())
}
