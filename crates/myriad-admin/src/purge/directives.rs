//! Directives `*_cache_purge`, with the syntax of nginx's purge module and of NGINX Plus, and
//! `cache_purge_response_type`.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FamilyRow, ONE, Set, SetterResult, at_least, network, use_cache_zone,
};
use myriad_conf::settings::{Network, Settings};
use myriad_conf::{Diagnostic, Word};

use super::place::PurgeLocation;
use super::settings::{PurgeCondition, PurgeSettings, PurgeStyle};
use myriad_exchange::feature::plan_handler;

/// Directives about purges without a protocol prefix.
pub(super) static ROWS: &[Directive] = &[Directive::new(
    "cache_purge_response_type",
    Contexts::HSL,
    ONE,
    Set::Settings(response_type),
    "Format of the response to a purge.",
)
.default("html")
.differs("directive of the purge module; the response uses that module's names, but is not identical byte for byte")];

/// Directives about purges with the prefix of each origin protocol, such as `proxy_`.
pub(super) static OF_ORIGINS: &[FamilyRow] = &[
    FamilyRow::new(
        Directive::new(
            "cache_purge",
            Contexts::HSL.or(Contexts::LOCATION_IF),
            at_least(1),
            Set::Settings(cache_purge),
            "Purges the page of a key from a zone immediately, even while it is being fetched.",
        )
        .differs(
            "`ZONE KEY` in a location purges that key, `ZONE url TARGET` that URL; `on` (PURGE and BAN) or a method, each \
                 with an optional `from`, and conditions as in NGINX Plus purge by URL, `*`, regex, host and tags as well as by \
                 key, always all variants; without `from` or `allow`, only loopback and the server's own addresses may purge, \
                 and only without a proxy in between",
        ),
    ),
];

/// Parses `*_cache_purge`. With `ZONE KEY` or `ZONE url TARGET`, every request to the location purges. With `off`, no
/// request purges. With `on` or a method, each optionally with `purge_all` and `from`, requests with that method purge.
/// With other texts, a request purges if one of them evaluates to neither an empty text nor `0` (NGINX Plus).
fn cache_purge(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let first = args.bytes(0).to_vec();
    if first == b"off" && args.len() == 1 {
        *settings.feature_mut() = PurgeSettings::default();
        return Ok(());
    }
    if let Some(methods) = methods(args, &first) {
        let everything = args.len() > 1 && args.bytes(1) == b"purge_all";
        let from = from(args, 1 + usize::from(everything))?;
        *settings.feature_mut() = PurgeSettings { when: PurgeCondition::Methods(methods), everything, from };
        return Ok(());
    }
    let by_url = args.len() == 3 && args.bytes(1) == b"url";
    if (args.len() != 2 && !by_url) || first.contains(&b'$') {
        let texts = args.words().iter().map(Word::to_text).collect();
        *settings.feature_mut() =
            PurgeSettings { when: PurgeCondition::Texts(texts), ..PurgeSettings::default() };
        return Ok(());
    }
    let zone = args.text(0)?;
    use_cache_zone(args, &zone);
    settings.handler = Some(plan_handler(PurgeLocation { zone, text: args.text(args.len() - 1)?, by_url }));
    Ok(())
}

fn response_type(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let styles = [
        ("html", PurgeStyle::Html),
        ("json", PurgeStyle::Json),
        ("xml", PurgeStyle::Xml),
        ("text", PurgeStyle::Text),
    ];
    *settings.feature_mut() = args.choice::<PurgeStyle>(0, &styles)?;
    Ok(())
}

/// Returns the methods of purge requests: for `on`, `PURGE` and `BAN`, which some plugins send; otherwise the first
/// argument, if it is in upper case and followed by nothing, `purge_all` or `from`. Returns `None` for other arguments.
fn methods(args: &Arguments<'_>, first: &[u8]) -> Option<Vec<String>> {
    if first == b"on" {
        return Some(vec!["PURGE".to_owned(), "BAN".to_owned()]);
    }
    let alone = args.len() == 1 || matches!(args.bytes(1), b"from" | b"purge_all");
    let is_method = alone && first.iter().all(u8::is_ascii_uppercase);
    is_method.then(|| vec![String::from_utf8_lossy(first).into_owned()])
}

/// Parses `from` and its addresses, networks or `all`, from argument `at` on; `None` if there are no more arguments.
/// Returns an error for other arguments.
fn from(args: &mut Arguments<'_>, at: usize) -> Result<Option<Vec<Network>>, Diagnostic> {
    if args.len() == at {
        return Ok(None);
    }
    if args.bytes(at) != b"from" || args.len() == at + 1 {
        return Err(args.invalid(at, "\"from\" followed by addresses, networks or \"all\""));
    }
    let mut from = Vec::with_capacity(args.len() - at - 1);
    for index in at + 1..args.len() {
        let word = args.bytes(index).to_vec();
        from.push(network(args, index, &word)?);
    }
    Ok(Some(from))
}
