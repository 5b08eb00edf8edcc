//! `fastcgi_cache_purge`, `proxy_cache_purge`: the purge module's forms, and that of NGINX Plus.

use super::{Arguments, Done, network, zone::used};
use crate::{
    diagnostic::Diagnostic,
    settings::{Handler, Network, PurgeCondition, PurgeSettings, PurgeStyle, Settings},
};

/// `ZONE KEY`, `ZONE url TARGET`: the whole location purges. `off`, `on`, a method, each with `purge_all` and `from`: requests
/// with it purge. Else texts, one of which is true for requests that purge (NGINX Plus).
pub(super) fn cache_purge(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let first = args.bytes(0).to_vec();
    if first == b"off" && args.len() == 1 {
        settings.cache_rules.purge = PurgeSettings::default();
        return Ok(());
    }
    if let Some(methods) = methods(args, &first) {
        let everything = args.len() > 1 && args.bytes(1) == b"purge_all";
        let from = from(args, 1 + usize::from(everything))?;
        settings.cache_rules.purge =
            PurgeSettings { when: PurgeCondition::Methods(methods), everything, from };
        return Ok(());
    }
    let by_url = args.len() == 3 && args.bytes(1) == b"url";
    if (args.len() != 2 && !by_url) || first.contains(&b'$') {
        let texts = args.words().iter().map(crate::parsed::Word::to_text).collect();
        settings.cache_rules.purge =
            PurgeSettings { when: PurgeCondition::Texts(texts), ..PurgeSettings::default() };
        return Ok(());
    }
    let zone = args.text(0)?;
    used(args, &zone);
    settings.handler = Some(Handler::Purge { zone, text: args.text(args.len() - 1)?, by_url });
    Ok(())
}

/// `cache_purge_response_type`.
pub(super) fn response_type(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let styles = [
        ("html", PurgeStyle::Html),
        ("json", PurgeStyle::Json),
        ("xml", PurgeStyle::Xml),
        ("text", PurgeStyle::Text),
    ];
    settings.cache_rules.purge_style = args.choice(0, &styles)?;
    Ok(())
}

/// The methods of requests that purge; none where the first argument is no method. `on` is also for `BAN`, which some
/// plugins send.
fn methods(args: &Arguments<'_>, first: &[u8]) -> Option<Vec<String>> {
    if first == b"on" {
        return Some(vec!["PURGE".to_owned(), "BAN".to_owned()]);
    }
    let alone = args.len() == 1 || matches!(args.bytes(1), b"from" | b"purge_all");
    let is_method = alone && first.iter().all(u8::is_ascii_uppercase);
    is_method.then(|| vec![String::from_utf8_lossy(first).into_owned()])
}

/// What follows `from`: addresses and networks, or `all`.
fn from(args: &mut Arguments<'_>, at: usize) -> Result<Option<Vec<Network>>, Diagnostic> {
    if args.len() == at {
        return Ok(None);
    }
    if args.bytes(at) != b"from" || args.len() == at + 1 {
        return Err(args.invalid(at, "\"from\" and who may purge: addresses, networks or \"all\""));
    }
    let mut from = Vec::with_capacity(args.len() - at - 1);
    for index in at + 1..args.len() {
        let word = args.bytes(index).to_vec();
        from.push(network(args, index, &word)?);
    }
    Ok(Some(from))
}
