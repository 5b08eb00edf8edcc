//! `Redirect`, `RedirectMatch` and similar directives (`mod_alias`).

use myriad_base::digits::decimal;

use crate::apache::expand::{CaptureStyle, expand};
use crate::apache::lines::ApacheItem;
use crate::apache::pattern::{escaped, is_balanced, quoted, word};
use crate::apache::site::TranslatedEntry;
use crate::apache::state::ApacheWalk;

/// Handles a directive of `mod_alias` (`Redirect` and similar ones). Returns false for other directives.
pub(crate) fn take(walk: &mut ApacheWalk<'_>, item: &ApacheItem) -> bool {
    let name = item.name.to_ascii_lowercase();
    let mut words = item.words.clone();
    let status = match name.as_str() {
        "redirectpermanent" => 301,
        "redirecttemp" => 302,
        "redirect" | "redirectmatch" => match words.first().and_then(|word| status(word)) {
            Some(status) => {
                words.remove(0);
                status
            }
            None => 302,
        },
        _ => return false,
    };
    if let Err(reason) = translate(walk, item, &name, status, &words) {
        walk.missing(item, &reason);
    }
    true
}

fn status(word: &str) -> Option<u16> {
    match word.to_ascii_lowercase().as_str() {
        "permanent" => Some(301),
        "temp" => Some(302),
        "seeother" => Some(303),
        "gone" => Some(410),
        word => decimal(word).filter(|status| (300..600).contains(status)),
    }
}

fn translate(
    walk: &mut ApacheWalk<'_>,
    item: &ApacheItem,
    name: &str,
    status: u16,
    words: &[String],
) -> Result<(), String> {
    if !walk.guards.is_empty() {
        return Err("a redirect in a section is not translated: write it in a location".into());
    }
    let is_match = name == "redirectmatch";
    let path = words.first().ok_or("the path is missing")?;
    if !is_match && !path.starts_with('/') {
        return Err("the path must start with /".into());
    }
    // The path after the prefix is appended to the target.
    let regex =
        if is_match { path.clone() } else { format!("^{}(|/.*)$", escaped(path.trim_end_matches('/'))) };
    let regex = if !is_match && path.ends_with('/') { format!("^{}(.*)$", escaped(path)) } else { regex };
    if !is_balanced(&regex) {
        return Err("the regex is invalid".into());
    }
    let regex = quoted(&regex);
    let why = format!("Returns status {status} before rewrite rules are evaluated.");
    if !(300..400).contains(&status) {
        let lines = vec![format!("if ($uri ~ {regex}) {{ return {status}; }}")];
        walk.parts.redirects.push(TranslatedEntry::new(item, &why, lines));
        return Ok(());
    }
    let target = words.get(1).ok_or("the target is missing")?;
    let target = if is_match {
        expand(target, CaptureStyle::Direct(0))?.text
    } else if target.contains('$') {
        return Err("a \"$\" cannot be written in nginx's language".into());
    } else {
        format!("{target}$1")
    };
    if !target.starts_with('/') && !target.contains("://") {
        return Err("the target is neither a path nor a URL".into());
    }
    // Otherwise nginx would append the query of the request to a target that has its own; a trailing "?" prevents that.
    let target = if target.contains('?') { format!("{target}?") } else { target };
    let flag = match status {
        301 => "permanent",
        302 => "redirect",
        _ => return Err("nginx's rewrite redirects only with 301 and 302: write return in a location".into()),
    };
    let lines = vec![format!("rewrite {regex} {} {flag};", word(&target))];
    walk.parts.redirects.push(TranslatedEntry::new(item, &why, lines));
    Ok(())
}
