//! Translation of `mod_rewrite`: conditions and rules are collected in order, and written by
//! [`crate::apache::rewrite_text`].

use myriad_base::digits::decimal;

use crate::apache::lines::ApacheItem;
use crate::apache::pattern::is_balanced;
use crate::apache::rewrite_text;
use crate::apache::rules::{RewriteCondition, RewriteRule, RuleFlags};
use crate::apache::site::TranslatedEntry;
use crate::apache::state::ApacheWalk;

/// Maximum number of rules that are translated; each becomes several directives.
const MOST: usize = 2000;

/// Handles a directive of `mod_rewrite`. Returns false for other directives.
pub(crate) fn take(walk: &mut ApacheWalk<'_>, item: &ApacheItem) -> bool {
    match item.name.to_ascii_lowercase().as_str() {
        "rewriteengine" => {
            walk.rules.is_on = item.word(0).eq_ignore_ascii_case("on");
            walk.rules.entries.push(TranslatedEntry::new(
                item,
                "Left out: nginx needs no switch for rewrite rules.",
                Vec::new(),
            ));
        }
        "rewritebase" if item.word(0).contains('$') => {
            walk.missing(item, "a \"$\" cannot be written in nginx's language");
        }
        "rewritebase" => {
            let base = format!("/{}/", item.word(0).trim_matches('/')).replace("//", "/");
            walk.rules.base = Some(base);
            walk.rules.entries.push(TranslatedEntry::new(
                item,
                "Left out: the targets below are complete paths.",
                Vec::new(),
            ));
        }
        "rewriteoptions" => walk.rules.entries.push(TranslatedEntry::new(
            item,
            "Left out: it applies to .htaccess files of parent folders.",
            Vec::new(),
        )),
        "rewritemap" => walk.missing(item, "write a map block"),
        "rewritecond" => condition(walk, item),
        "rewriterule" => rule(walk, item),
        _ => return false,
    }
    true
}

fn condition(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let flags = item.word(2).trim_start_matches('[').trim_end_matches(']').to_ascii_uppercase();
    let has = |names: &[&str]| flags.split(',').any(|flag| names.contains(&flag.trim()));
    let (pattern, negated) = match item.word(1).strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (item.word(1), false),
    };
    let condition = RewriteCondition {
        item: item.clone(),
        test: item.word(0).to_owned(),
        pattern: pattern.to_owned(),
        negated,
        no_case: has(&["NC", "NOCASE"]),
        or: has(&["OR", "ORNEXT"]),
    };
    if item.words.len() < 2 {
        walk.missing(item, "a condition requires a test string and a pattern");
        walk.rules.broken = true;
        return;
    }
    walk.rules.conditions.push(condition);
}

fn rule(walk: &mut ApacheWalk<'_>, item: &ApacheItem) {
    let conditions = std::mem::take(&mut walk.rules.conditions);
    let broken = std::mem::take(&mut walk.rules.broken);
    let mut of: Vec<(usize, String)> =
        conditions.iter().map(|condition| (condition.item.line, condition.item.text.clone())).collect();
    of.push((item.line, item.text.clone()));
    if !walk.rules.is_on {
        walk.rules.entries.push(TranslatedEntry {
            of,
            why: "Left out: RewriteEngine is not on here.".into(),
            lines: Vec::new(),
        });
        return;
    }
    walk.rules.count += 1;
    let is_chain_broken = std::mem::take(&mut walk.rules.is_chain_broken);
    let translated = if is_chain_broken {
        Err("the rule that it is chained to is not translated".to_owned())
    } else if broken {
        Err("one of its conditions is not translated".to_owned())
    } else if walk.rules.count > MOST {
        Err("there are too many rules".to_owned())
    } else if !walk.guards.is_empty() && walk.folder.is_none() {
        Err("a rule in a section is not translated: write it in a location".to_owned())
    } else {
        parse_rule(walk, item).and_then(|rule| {
            rewrite_text::lines(walk, &rule, &conditions).map(|(why, lines)| (rule, why, lines))
        })
    };
    match translated {
        Ok((rule, why, lines)) => {
            walk.rules.chained = rule.flags.chain;
            walk.rules.entries.push(TranslatedEntry { of, why, lines });
        }
        Err(reason) => {
            walk.missing(item, &reason);
            walk.rules.chained = false;
            walk.rules.is_chain_broken = is_chain_start(item);
        }
    }
}

/// Returns whether the rule `item` has the flag `C`, by which the next rule is chained to it. The rule itself may be
/// invalid.
fn is_chain_start(item: &ApacheItem) -> bool {
    let written = item.words.get(2..).unwrap_or_default().join(" ");
    let mut flags = written.trim().trim_start_matches('[').trim_end_matches(']').split(',').map(str::trim);
    flags.any(|flag| flag.eq_ignore_ascii_case("C") || flag.eq_ignore_ascii_case("chain"))
}

fn parse_rule(walk: &mut ApacheWalk<'_>, item: &ApacheItem) -> Result<RewriteRule, String> {
    let (pattern, negated) = match item.word(0).strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (item.word(0), false),
    };
    if item.words.len() < 2 {
        return Err("a rule requires a pattern and a target".into());
    }
    // In Apache, a space in a word is escaped by a backslash; a regex needs no such escape.
    let pattern = pattern.replace("\\ ", " ");
    if !is_balanced(&pattern) {
        return Err("the regex is invalid".into());
    }
    Ok(RewriteRule {
        number: walk.rules.count,
        pattern,
        negated,
        target: item.word(1).to_owned(),
        flags: flags(walk, item)?,
    })
}

fn flags(walk: &mut ApacheWalk<'_>, item: &ApacheItem) -> Result<RuleFlags, String> {
    let mut flags = RuleFlags::default();
    let written = item.words.get(2..).unwrap_or_default().join(" ");
    let written = written.trim().trim_start_matches('[').trim_end_matches(']').to_owned();
    for flag in written.split(',').map(str::trim).filter(|flag| !flag.is_empty()) {
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        match name.to_ascii_uppercase().as_str() {
            "NC" | "NOCASE" => flags.no_case = true,
            "L" | "LAST" | "END" => flags.last = true,
            "QSA" | "QSAPPEND" => flags.append_query = true,
            "QSD" | "QSDISCARD" => flags.drop_query = true,
            "R" | "REDIRECT" => flags.status = Some(redirect(value)?),
            "F" | "FORBIDDEN" => flags.status = Some(403),
            "G" | "GONE" => flags.status = Some(410),
            "C" | "CHAIN" => flags.chain = true,
            "E" | "ENV" => {
                let (name, value) = value.split_once(':').unwrap_or((value, ""));
                flags.env.push((name.to_owned(), value.to_owned()));
            }
            "PT" | "PASSTHROUGH" | "DPI" | "DISCARDPATH" => {}
            "NE" | "NOESCAPE" => walk.note(item, "captures in a redirect are escaped nevertheless"),
            "NS" | "NOSUBREQ" => walk.note(item, "the rule also applies to subrequests"),
            "B" => walk.note(item, "captures are not escaped a second time"),
            "P" | "PROXY" => return Err("write a location with proxy_pass".into()),
            "N" | "NEXT" => {
                return Err("rules are not repeated: write a regex that needs a single pass".into());
            }
            "S" | "SKIP" => {
                return Err(
                    "rules cannot be skipped by their number: write the condition for each of them".into()
                );
            }
            "T" | "TYPE" | "H" | "HANDLER" => return Err("set types and handlers in a location".into()),
            "CO" | "COOKIE" => return Err("write add_header Set-Cookie in a location".into()),
            _ => return Err(format!("the flag {flag} has no counterpart")),
        }
    }
    Ok(flags)
}

fn redirect(value: &str) -> Result<u16, String> {
    match value.to_ascii_lowercase().as_str() {
        "" | "temp" => Ok(302),
        "permanent" => Ok(301),
        "seeother" => Ok(303),
        value => decimal(value)
            .filter(|status| (300..600).contains(status))
            .ok_or_else(|| format!("R={value} is not a valid status")),
    }
}

/// Adds the translated rules to the parts of the server, and reports the first condition that no rule follows.
pub(crate) fn finish(walk: &mut ApacheWalk<'_>) {
    if let Some(condition) = walk.rules.conditions.first().cloned() {
        walk.missing(&condition.item, "no rule follows this condition");
    }
    walk.parts.rewrite = std::mem::take(&mut walk.rules.entries);
    if walk.rules.count > 1 {
        let why = "After a rewrite with [L], Apache evaluates all rules of a folder again; here each rule is evaluated once, and \
             again after an internal redirect to an index file or an error page.";
        walk.parts.rewrite.push(TranslatedEntry { of: Vec::new(), why: why.into(), lines: Vec::new() });
    }
}
