//! Translation of `Expires*`: lifetimes by media type, unless the application sends a lifetime.

use myriad_base::digits::decimal;

use crate::apache::lines::ApacheItem;
use crate::apache::pattern::{escaped, quoted};
use crate::apache::site::{Remark, TranslatedEntry};
use crate::apache::state::{ApacheWalk, ExpiresState};

/// Reason why `Expires*` in a section with a condition is not translated.
const WHOLE_SITE: &str =
    "lifetimes are translated per media type for the whole site: write expires in a location";

/// Handles a directive for lifetimes (`Expires*`). Returns false for other directives.
pub(crate) fn take(walk: &mut ApacheWalk<'_>, item: &ApacheItem) -> bool {
    let (media, said) = match item.name.to_ascii_lowercase().as_str() {
        "expiresactive" => {
            if !walk.guards.is_empty() {
                walk.missing(item, WHOLE_SITE);
                return true;
            }
            walk.expires.active = Some(item.word(0).eq_ignore_ascii_case("on"));
            walk.expires.of.push((item.line, item.text.clone()));
            return true;
        }
        "expiresdefault" => (None, item.words.join(" ")),
        "expiresbytype" => {
            (Some(item.word(0).to_ascii_lowercase()), item.words.get(1..).unwrap_or_default().join(" "))
        }
        _ => return false,
    };
    let Some((seconds, of_change)) = lifetime(&said) else {
        walk.missing(item, "not a valid lifetime of Apache");
        return true;
    };
    if !walk.guards.is_empty() {
        walk.missing(item, WHOLE_SITE);
        return true;
    }
    if of_change {
        walk.note(item, "the lifetime starts at the request, not at the last change of the file");
    }
    let expires = &mut walk.expires;
    expires.of.push((item.line, item.text.clone()));
    match media {
        None => expires.default = Some(seconds),
        Some(media) => {
            expires.types.retain(|(known, _)| *known != media);
            expires.types.push((media, seconds));
        }
    }
    true
}

/// Parses `A3600`, `M3600` or `access plus 1 year 2 days`. Returns the seconds, and true if they count from the last
/// change of the file. Returns `None` if it is invalid.
fn lifetime(said: &str) -> Option<(u64, bool)> {
    let lower = said.trim().to_ascii_lowercase();
    for (letter, of_change) in [('a', false), ('m', true)] {
        if let Some(seconds) = lower.strip_prefix(letter).and_then(decimal::<u32>) {
            return Some((seconds.into(), of_change));
        }
    }
    let mut words = lower.split_whitespace().peekable();
    let of_change = match words.next()? {
        "access" | "now" => false,
        "modification" => true,
        _ => return None,
    };
    words.next_if_eq(&"plus");
    let mut sum: u64 = 0;
    while let Some(number) = words.next() {
        let unit = match words.next()?.trim_end_matches('s') {
            "year" => 31_536_000,
            "month" => 2_592_000,
            "week" => 604_800,
            "day" => 86_400,
            "hour" => 3600,
            "minute" => 60,
            "second" => 1,
            _ => return None,
        };
        sum = sum.checked_add(u64::from(decimal::<u32>(number)?).checked_mul(unit)?)?;
    }
    Some((sum.min(u64::from(u32::MAX)), of_change))
}

/// Remark on a lifetime in a file without `ExpiresActive`.
const INHERITED: &str = "not translated, because this file has no \"ExpiresActive On\": add it if the configuration of Apache has it";

/// Adds a `map` and the directive `expires` for the collected lifetimes; nothing if the text has no `Expires*`, only a
/// comment with `ExpiresActive Off` or without a lifetime, and remarks if the text has no `ExpiresActive`.
pub(crate) fn finish(walk: &mut ApacheWalk<'_>) {
    let ExpiresState { of, active, default, types } = std::mem::take(&mut walk.expires);
    if of.is_empty() {
        return;
    }
    let Some(is_active) = active else {
        let remarks = of.iter().map(|(line, text)| Remark::note(*line, text, INHERITED));
        walk.remarks.extend(remarks);
        return;
    };
    if !is_active || (default.is_none() && types.is_empty()) {
        let why =
            if is_active { "Sets no lifetimes." } else { "Has no effect because of \"ExpiresActive Off\"." };
        walk.parts.settings.push(TranslatedEntry { of, why: why.into(), lines: Vec::new() });
        return;
    }
    let name = format!("lifetime_{}", walk.number());
    let mut lines = vec![format!(
        "map \"$upstream_http_expires$upstream_http_cache_control:$sent_http_content_type\" ${name} {{"
    )];
    lines.push("    default off;".into());
    for (media, seconds) in &types {
        // A media type may be followed by parameters.
        lines.push(format!("    {} {seconds}s;", quoted(&format!("~*^:{}(;|$)", escaped(media)))));
    }
    if let Some(seconds) = default {
        lines.push(format!("    {} {seconds}s;", quoted("~^:")));
    }
    lines.push("}".into());
    walk.parts.http.push(TranslatedEntry {
        of: of.clone(),
        why: "Lifetime for each media type, unless the application sends one.".into(),
        lines,
    });
    walk.parts.settings.push(TranslatedEntry {
        of: Vec::new(),
        why: "Applies the lifetimes of the map above.".into(),
        lines: vec![format!("expires ${name};")],
    });
}
