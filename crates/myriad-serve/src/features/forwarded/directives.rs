//! Directives `forwarded_scheme_from` and `forwarded_host_from`.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, at_least, network};
use myriad_conf::settings::{Network, Settings};

use super::settings::ForwardedSettings;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "forwarded_scheme_from",
        Contexts::HTTP,
        at_least(1),
        Set::Settings(scheme_from),
        "Uses the scheme from `X-Forwarded-Proto` for requests from these addresses, networks or \"unix:\". With \
             `https`, `$scheme` is `https`, `$https` is `on` and `$server_port` is 443.",
    )
    .repeats()
    .own(),
    Directive::new(
        "forwarded_host_from",
        Contexts::HTTP,
        at_least(1),
        Set::Settings(host_from),
        "Uses the host from `X-Forwarded-Host` instead of `Host` for requests from these addresses, networks or \"unix:\" \
             whose `Host` matches no `server_name`.",
    )
    .repeats()
    .own(),
];

fn scheme_from(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    add(&mut settings.feature_mut::<ForwardedSettings>().scheme_from, args)
}

fn host_from(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    add(&mut settings.feature_mut::<ForwardedSettings>().host_from, args)
}

/// Adds the arguments of a directive to `trusted`. Returns an error for an invalid network, and for `all`.
fn add(trusted: &mut Vec<Network>, args: &mut Arguments<'_>) -> SetterResult {
    args.start(trusted);
    for index in 0..args.len() {
        let word = args.bytes(index);
        if word == b"all" {
            // With `all`, every client could choose the scheme and the host.
            return Err(args.invalid(index, "an address, a network such as 10.0.0.0/8, or \"unix:\""));
        }
        trusted.push(network(args, index, word)?);
    }
    Ok(())
}
