//! Translation of `Header` and `RequestHeader`.

use crate::apache::expand::env_variable;
use crate::apache::lines::ApacheItem;
use crate::apache::pattern::quoted;
use crate::apache::site::TranslatedEntry;
use crate::apache::state::{ApacheWalk, SectionGuard};

/// Handles the directives `Header` and `RequestHeader`. Returns false for other directives.
pub(crate) fn take(walk: &mut ApacheWalk<'_>, item: &ApacheItem) -> bool {
    if item.is("RequestHeader") {
        request(walk, item);
        return true;
    }
    if !item.is("Header") {
        return false;
    }
    let mut words: Vec<&str> = item.words.iter().map(String::as_str).collect();
    let always = words.first().is_some_and(|word| word.eq_ignore_ascii_case("always"));
    if always || words.first().is_some_and(|word| word.eq_ignore_ascii_case("onsuccess")) {
        words.remove(0);
    }
    let env = words.last().and_then(|word| word.strip_prefix("env=")).map(str::to_owned);
    if env.is_some() {
        words.pop();
    }
    let before = walk.guards.len();
    if let Some(name) = env {
        let guard = guard(walk, &name);
        walk.guards.push(guard);
    }
    let translated = translate(walk, item, &words, always);
    walk.guards.truncate(before);
    if let Err(reason) = translated {
        walk.missing(item, &reason);
    }
    true
}

fn guard(walk: &mut ApacheWalk<'_>, name: &str) -> SectionGuard {
    let (name, negated) = name.strip_prefix('!').map_or((name, false), |name| (name, true));
    let name = env_variable(name);
    walk.parts.env_read.insert(name.clone());
    let (set, unset) = (format!("${name}"), format!("${name} = \"\""));
    if negated {
        SectionGuard { holds: unset, fails: set }
    } else {
        SectionGuard { holds: set, fails: unset }
    }
}

fn translate(
    walk: &mut ApacheWalk<'_>,
    item: &ApacheItem,
    words: &[&str],
    always: bool,
) -> Result<(), String> {
    let (action, name) = (
        words.first().copied().unwrap_or_default().to_ascii_lowercase(),
        words.get(1).copied().unwrap_or_default(),
    );
    let name = name.trim_end_matches(':');
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        return Err("the header name is missing or invalid".into());
    }
    match action.as_str() {
        "unset" if walk.guards.is_empty() => {
            let lines = vec![format!("more_clear_headers {name};")];
            let entry = TranslatedEntry::new(item, "Removes the header from responses.", lines);
            walk.parts.settings.push(entry);
            Ok(())
        }
        "unset" => unset(walk, item, name),
        "set" | "append" | "merge" | "add" | "setifempty" => {
            let value = value(words.get(2).copied().unwrap_or_default())?;
            if action != "set" && action != "add" {
                walk.note(item, "the header is sent in addition to one that the application sends");
            }
            let replaces = action == "set";
            if walk.guards.is_empty() && replaces {
                let lines = vec![format!("more_set_headers {};", quoted(&format!("{name}: {value}")))];
                walk.parts.settings.push(TranslatedEntry::new(
                    item,
                    "Sets the header, and replaces a value that the application sends.",
                    lines,
                ));
                return Ok(());
            }
            field(walk, item, name, &value, always);
            Ok(())
        }
        "edit" | "edit*" => {
            Err("header values are not edited: set the whole value with more_set_headers".into())
        }
        _ => Err("this action has no counterpart".into()),
    }
}

/// Adds a response header with a variable as its value. Outside of the section the variable is empty, and nginx does
/// not send empty headers.
fn field(walk: &mut ApacheWalk<'_>, item: &ApacheItem, name: &str, value: &str, always: bool) {
    let variable = format!("field_{}", name.to_ascii_lowercase().replace('-', "_"));
    let add = format!("add_header {name} ${variable}{};", if always { " always" } else { "" });
    let begin = format!("add_header {name} ${variable}");
    let is_known =
        walk.parts.settings.iter().any(|entry| entry.lines.iter().any(|line| line.starts_with(&begin)));
    let mut lines = if is_known { Vec::new() } else { vec![format!("set ${variable} \"\";")] };
    lines.extend(walk.guarded(&[format!("set ${variable} {};", quoted(value))]));
    walk.parts.headers.push(TranslatedEntry::new(
        item,
        "Sets the header in responses for these files.",
        lines,
    ));
    if !is_known {
        let why = format!("Adds the header {name} if its variable is set below.");
        walk.parts.settings.push(TranslatedEntry { of: Vec::new(), why, lines: vec![add] });
    }
}

/// Translates `Header unset` in a section, which is possible only for `ETag` and for headers that [`field`] has added.
fn unset(walk: &mut ApacheWalk<'_>, item: &ApacheItem, name: &str) -> Result<(), String> {
    if name.eq_ignore_ascii_case("etag") {
        walk.note(item, "ETag headers are removed from all responses");
        walk.parts.settings.push(TranslatedEntry::new(
            item,
            "Removes ETag headers.",
            vec!["more_clear_headers ETag;".into()],
        ));
        return Ok(());
    }
    let variable = format!("field_{}", name.to_ascii_lowercase().replace('-', "_"));
    let begin = format!("add_header {name} ${variable}");
    if walk.parts.settings.iter().any(|entry| entry.lines.iter().any(|line| line.starts_with(&begin))) {
        let lines = walk.guarded(&[format!("set ${variable} \"\";")]);
        walk.parts.headers.push(TranslatedEntry::new(
            item,
            "Omits the header set above for these files.",
            lines,
        ));
        return Ok(());
    }
    Err("a header is removed from all responses or from none: write more_clear_headers in a location".into())
}

fn request(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let name = item.word(1).trim_end_matches(':').to_owned();
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let action = item.word(0).to_ascii_lowercase();
    let is_plain =
        walk.guards.is_empty() && is_name && item.words.len() <= 3 && !item.word(2).starts_with("env=");
    match (action.as_str(), value(item.word(2))) {
        ("unset", _) if is_plain => {
            let lines = vec![format!("more_clear_input_headers {name};")];
            walk.parts.settings.push(TranslatedEntry::new(item, "Removes the header from requests.", lines));
        }
        ("set", Ok(value)) if is_plain => {
            let lines = vec![format!("more_set_input_headers {};", quoted(&format!("{name}: {value}")))];
            walk.parts.settings.push(TranslatedEntry::new(
                item,
                "Sets this request header for the application.",
                lines,
            ));
        }
        _ => walk
            .missing(item, "write more_set_input_headers, or a parameter for the upstream (fastcgi_param)"),
    }
}

/// Translates a header value: `%%` becomes `%`. Returns an error text if the value contains a `$` or an Apache
/// variable, or is an expression.
fn value(text: &str) -> Result<String, String> {
    if text.contains('$') || text.starts_with("expr=") {
        return Err("the value is an expression, or contains a \"$\"".into());
    }
    let plain = text.replace("%%", "\u{0}");
    if plain.contains('%') {
        return Err("the value contains an Apache variable".into());
    }
    Ok(plain.replace('\u{0}', "%"))
}
