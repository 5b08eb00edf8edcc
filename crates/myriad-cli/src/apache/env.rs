//! Translation of `SetEnv`, `SetEnvIf` and `BrowserMatch`, which set variables for rules, access control and PHP.

use crate::apache::expand::env_variable;
use crate::apache::lines::ApacheItem;
use crate::apache::pattern::{is_balanced, quoted};
use crate::apache::site::TranslatedEntry;
use crate::apache::state::ApacheWalk;

/// Handles a directive for environment variables (`SetEnv`, `SetEnvIf`, `BrowserMatch` and similar ones). Returns false
/// for other directives.
pub(crate) fn take(walk: &mut ApacheWalk<'_>, item: &ApacheItem) -> bool {
    let (source, regex, rest, no_case) = match item.name.to_ascii_lowercase().as_str() {
        "setenv" => {
            let name = env_variable(item.word(0));
            let lines = walk.guarded(&[format!("set ${name} {};", quoted(item.word(1)))]);
            return push(walk, item, &[name], lines, item.word(1));
        }
        "unsetenv" => {
            let name = env_variable(item.word(0));
            let lines = walk.guarded(&[format!("set ${name} \"\";")]);
            return push(walk, item, &[name], lines, "");
        }
        "passenv" => {
            walk.missing(item, "environment variables of the server process are not passed on");
            return true;
        }
        "setenvif" => (attribute(item.word(0)), item.word(1), item.words.get(2..), false),
        "setenvifnocase" => (attribute(item.word(0)), item.word(1), item.words.get(2..), true),
        "browsermatch" => (Some("http_user_agent".into()), item.word(0), item.words.get(1..), false),
        "browsermatchnocase" => (Some("http_user_agent".into()), item.word(0), item.words.get(1..), true),
        _ => return false,
    };
    let Some(source) = source.filter(|_| is_balanced(regex)) else {
        walk.missing(item, "the attribute or its regex has no counterpart");
        return true;
    };
    if let Some(known) = source.strip_prefix("env_") {
        walk.parts.env_read.insert(format!("env_{known}"));
    }
    let (mut names, mut sets) = (Vec::new(), Vec::new());
    for word in rest.unwrap_or_default() {
        let (name, value) = match word.strip_prefix('!') {
            Some(name) => (name, ""),
            None => word.split_once('=').unwrap_or((word, "1")),
        };
        if matches!(
            name,
            "no-gzip"
                | "gzip-only-text/html"
                | "force-no-vary"
                | "nokeepalive"
                | "downgrade-1.0"
                | "force-response-1.0"
        ) {
            continue;
        }
        // Captures of the regex keep their names; another "$" would start a variable.
        let is_capture = |(at, _): (usize, &str)| {
            value[at + 1..].starts_with(|letter: char| ('1'..='9').contains(&letter))
        };
        if !value.match_indices('$').all(is_capture) {
            walk.missing(item, "the value has no counterpart");
            return true;
        }
        sets.push(format!("set ${} {};", env_variable(name), quoted(value)));
        names.push(env_variable(name));
    }
    if sets.is_empty() {
        walk.note(item, "it is for obsolete clients and is not needed");
        return true;
    }
    let sign = if no_case { "~*" } else { "~" };
    let lines = vec![format!("if (${source} {sign} {}) {{ {} }}", quoted(regex), sets.join(" "))];
    if !walk.guards.is_empty() {
        walk.note(item, "it applies to all files, not only to those of its section");
    }
    push(walk, item, &names, lines, "")
}

fn push(
    walk: &mut ApacheWalk<'_>,
    item: &ApacheItem,
    names: &[String],
    lines: Vec<String>,
    value: &str,
) -> bool {
    if value.contains('$') {
        walk.missing(item, "a \"$\" cannot be written in nginx's language");
        return true;
    }
    walk.parts.env_set.extend(names.iter().cloned());
    walk.parts.env.push(TranslatedEntry::new(
        item,
        "Sets a variable for the rules below and for PHP.",
        lines,
    ));
    true
}

/// Returns the nginx variable, without its `$`, for the first argument of `SetEnvIf`: a property or header field of the
/// request, or (for a name with `_`) an environment variable. Returns `None` if the argument is empty, contains both
/// `-` and `_`, or contains any character other than `-`, `_`, ASCII letters and digits.
fn attribute(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    Some(match lower.as_str() {
        "remote_addr" | "remote_host" => "remote_addr".into(),
        "server_addr" => "server_addr".into(),
        "request_method" => "request_method".into(),
        "request_protocol" => "server_protocol".into(),
        "request_uri" => "uri".into(),
        _ if !lower.is_empty() && lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
            format!("http_{}", lower.replace('-', "_"))
        }
        _ if lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !lower.is_empty() => {
            env_variable(name)
        }
        _ => return None,
    })
}
