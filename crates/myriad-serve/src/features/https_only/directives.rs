//! Directive `https_only`.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, between};
use myriad_conf::settings::Settings;

use super::settings::{HttpsOnlyRules, HttpsOnlySettings};

/// Minimum `hsts` lifetime for the parameter `preload`, in seconds: browsers' preload lists require one year.
const PRELOAD_S: u64 = 365 * 86_400;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "https_only",
    Contexts::HTTP_SERVER,
    between(1, 5),
    Set::Settings(https_only),
    "Redirects HTTP requests to HTTPS, and sends `Strict-Transport-Security` (`hsts=180d`).",
)
.default("off")
.own()];

fn https_only(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    if !args.flag(0)? {
        settings.feature_mut::<HttpsOnlySettings>().rules = None;
        return if args.len() == 1 { Ok(()) } else { Err(args.invalid(1, "omitted after `off`")) };
    }
    let mut rules = HttpsOnlyRules { span: args.node.span, ..HttpsOnlyRules::default() };
    for index in 1..args.len() {
        match args.bytes(index) {
            b"hsts=off" => rules.hsts_s = None,
            word if word.starts_with(b"hsts=") => {
                rules.hsts_s = Some(args.millis_after(index, "hsts=".len())? / 1000);
            }
            b"subdomains" => rules.subdomains = true,
            b"preload" => rules.preload = true,
            word if word.starts_with(b"port=") => {
                let port = u16::try_from(args.small(index, "port=".len())?).ok().filter(|port| *port != 0);
                rules.port = Some(port.ok_or_else(|| args.invalid(index, "a port from 1 to 65535"))?);
            }
            _ => return Err(args.invalid(index, "hsts=TIME, hsts=off, subdomains, preload or port=NUMBER")),
        }
    }
    let long = rules.hsts_s.is_some_and(|seconds| seconds >= PRELOAD_S);
    if rules.preload && !(long && rules.subdomains) {
        let message = "\"preload\" requires \"subdomains\" and \"hsts=1y\" or more";
        return Err(args.error(0, message).help("write https_only on hsts=1y subdomains preload;"));
    }
    if rules.subdomains && rules.hsts_s.is_none() {
        return Err(args.error(0, "\"subdomains\" requires HSTS, but \"hsts=off\" is set"));
    }
    settings.feature_mut::<HttpsOnlySettings>().rules = Some(rules);
    Ok(())
}
