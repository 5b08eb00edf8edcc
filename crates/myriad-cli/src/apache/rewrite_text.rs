//! Translation of a rule with its conditions to the nginx language.
//!
//! A simple rule without conditions becomes a single `rewrite` or `if`. For other rules, the variable `$rule` is 1
//! while all conditions hold, because nginx's `if` takes a single condition and cannot be nested.

use crate::apache::expand::{CaptureStyle, ExpandedText, bare, capture, env_variable, expand, is_variable};
use crate::apache::pattern::{is_any, is_balanced, quoted, whole, word};
use crate::apache::rules::{RewriteCondition, RewriteRule};
use crate::apache::state::ApacheWalk;

/// `RewriteCond`, translated to nginx.
enum TranslatedCondition {
    /// Test by `if`: the lines before it, its expressions for success and failure, and the regex if it is a match that
    /// is not negated.
    If { before: Vec<String>, holds: String, fails: String, regex: Option<String> },
    /// Condition that has this result for every request.
    Always(bool),
}

/// Returns an explanation and the lines of a rule. Returns an error text if the rule cannot be translated.
pub(crate) fn lines(
    walk: &mut ApacheWalk<'_>,
    rule: &RewriteRule,
    conditions: &[RewriteCondition],
) -> Result<(String, Vec<String>), String> {
    let base = walk.folder.clone();
    // Outside of folders Apache matches whole paths.
    let regex = match &base {
        Some(base) => whole(&rule.pattern, base)
            .ok_or("a ^ that is not at the start of an alternative cannot be translated to complete paths")?,
        None if rule.pattern.is_empty() => "^".into(),
        None => rule.pattern.clone(),
    };
    let tests = tests(walk, rule, conditions)?;
    let action = action(walk, rule, conditions, &tests, &regex)?;
    let why = action.why.clone();
    let plain = tests.iter().all(|test| matches!(test, TranslatedCondition::Always(true)));
    if plain
        && !walk.rules.chained
        && !rule.flags.chain
        && action.sets.is_empty()
        && let Some(direct) = action.direct
    {
        return Ok((why, vec![direct]));
    }
    if action.end.is_none() && action.sets.is_empty() && !rule.flags.chain {
        return Ok(("Left out: the rule has no effect.".into(), Vec::new()));
    }
    let mut lines = pattern_test(walk, rule, &regex, &action);
    conjunction(&mut lines, rule, conditions, tests, &action);
    if walk.rules.chained {
        lines.push("if ($chain = \"\") { set $rule \"\"; }".into());
    }
    if rule.flags.chain {
        lines.push("set $chain $rule;".into());
    }
    let mut done = action.sets;
    done.extend(action.end);
    if !done.is_empty() {
        lines.push(format!("if ($rule) {{ {} }}", done.join(" ")));
    }
    Ok((why, lines))
}

/// Returns lines that set `$rule` by the pattern of the rule, and store the captures that other parts use.
fn pattern_test(walk: &ApacheWalk<'_>, rule: &RewriteRule, regex: &str, action: &RuleAction) -> Vec<String> {
    let sign = if rule.flags.no_case { "*" } else { "" };
    if rule.negated {
        return vec![
            "set $rule \"\";".into(),
            format!("if ($uri !~{sign} {}) {{ set $rule 1; }}", quoted(regex)),
        ];
    }
    let assignments: Vec<String> = action
        .captures
        .iter()
        .map(|index| format!(" set ${} ${index};", capture(rule.number, false, *index)))
        .collect();
    let is_all = is_any(&rule.pattern) && walk.folder.as_deref().is_none_or(|base| base == "/");
    if is_all && assignments.is_empty() {
        return vec!["set $rule 1;".into()];
    }
    let none =
        action.captures.iter().map(|index| format!("set ${} \"\";", capture(rule.number, false, *index)));
    let mut lines: Vec<String> = std::iter::once("set $rule \"\";".to_owned()).chain(none).collect();
    lines.push(format!("if ($uri ~{sign} {}) {{ set $rule 1;{} }}", quoted(regex), assignments.concat()));
    lines
}

/// Appends lines that clear `$rule` unless all conditions are true; of conditions joined by `OR`, one must be true.
/// Also stores the captures of the last condition that `action` uses in variables.
fn conjunction(
    lines: &mut Vec<String>,
    rule: &RewriteRule,
    conditions: &[RewriteCondition],
    tests: Vec<TranslatedCondition>,
    action: &RuleAction,
) {
    let last = tests.len().saturating_sub(1);
    let mut any: Vec<String> = Vec::new();
    let mut any_holds = false;
    for (at, test) in tests.into_iter().enumerate() {
        let joins = conditions[at].or;
        let in_group = joins || !any.is_empty() || (at > 0 && conditions[at - 1].or);
        let assignments = |regex: &Option<String>| -> String {
            if at != last || regex.is_none() {
                return String::new();
            }
            let keep = |index: &usize| format!(" set ${} ${index};", capture(rule.number, true, *index));
            action.condition_captures.iter().map(keep).collect::<Vec<_>>().concat()
        };
        match test {
            TranslatedCondition::Always(true) if in_group => any_holds = true,
            TranslatedCondition::Always(false) if in_group => {}
            TranslatedCondition::Always(true) => {}
            TranslatedCondition::Always(false) => lines.push("set $rule \"\";".into()),
            TranslatedCondition::If { before, holds, fails, regex } => {
                let assigned = assignments(&regex);
                if in_group {
                    any.extend(before);
                    any.push(format!("if ({holds}) {{ set $any 1;{assigned} }}"));
                } else if assigned.is_empty() {
                    lines.extend(before);
                    lines.push(format!("if ({fails}) {{ set $rule \"\"; }}"));
                } else {
                    lines.extend(before);
                    lines.push("set $any \"\";".into());
                    lines.push(format!("if ({holds}) {{ set $any 1;{assigned} }}"));
                    lines.push("if ($any = \"\") { set $rule \"\"; }".into());
                }
            }
        }
        if in_group && !joins {
            if !any_holds {
                lines.push("set $any \"\";".into());
                lines.append(&mut any);
                lines.push("if ($any = \"\") { set $rule \"\"; }".into());
            }
            any.clear();
            any_holds = false;
        }
    }
}

/// Translates the conditions of a rule. Returns an error text with the line of the first one that cannot be translated.
fn tests(
    walk: &mut ApacheWalk<'_>,
    rule: &RewriteRule,
    conditions: &[RewriteCondition],
) -> Result<Vec<TranslatedCondition>, String> {
    conditions
        .iter()
        .map(|condition| {
            test(walk, rule, condition)
                .map_err(|reason| format!("the condition in line {}: {reason}", condition.item.line))
        })
        .collect()
}

fn test(
    walk: &mut ApacheWalk<'_>,
    rule: &RewriteRule,
    condition: &RewriteCondition,
) -> Result<TranslatedCondition, String> {
    let RewriteCondition { test, pattern, negated, .. } = condition;
    if test.eq_ignore_ascii_case("expr") {
        return Err("expressions have no counterpart".into());
    }
    // `REDIRECT_STATUS` is empty in the first run of the rules; in nginx there is only one run.
    if test.eq_ignore_ascii_case("%{ENV:REDIRECT_STATUS}") {
        let of_first = matches!(pattern.as_str(), "^$" | "=" | "=\"\"" | "");
        return Ok(TranslatedCondition::Always(of_first != *negated));
    }
    if test.eq_ignore_ascii_case("%{IS_SUBREQ}") {
        return Ok(TranslatedCondition::Always((pattern == "false" || pattern == "=false") != *negated));
    }
    let expanded = expand(test, CaptureStyle::Variables(rule.number))?;
    if !expanded.of_condition.is_empty() {
        return Err("%1 in a condition has no counterpart: the regex of the previous condition would have to be evaluated again".into());
    }
    read(walk, &expanded);
    let text = bare(&expanded.text);
    let files = |sign: &str| {
        let (holds, fails) = (format!("-{sign} {}", quoted(&text)), format!("!-{sign} {}", quoted(&text)));
        let (holds, fails) = if *negated { (fails, holds) } else { (holds, fails) };
        TranslatedCondition::If { before: Vec::new(), holds, fails, regex: None }
    };
    match pattern.as_str() {
        "-f" | "-F" | "-s" => return Ok(files("f")),
        "-d" => return Ok(files("d")),
        "-x" => return Ok(files("x")),
        // Never true in nginx: links are followed, and their targets are tested.
        "-l" | "-h" | "-L" => return Ok(TranslatedCondition::Always(*negated)),
        "-U" => return Err("-U requires a subrequest of Apache".into()),
        _ => {}
    }
    if let Some(comparison) =
        pattern.strip_prefix('-').filter(|rest| ["eq", "ge", "gt", "le", "lt", "ne"].contains(rest))
    {
        return Err(format!("numeric comparisons have no counterpart (-{comparison})"));
    }
    if pattern.starts_with(['<', '>']) {
        return Err("string comparisons with < and > have no counterpart".into());
    }
    let (before, variable) = if is_variable(&text) {
        (Vec::new(), text)
    } else {
        (vec![format!("set $text {};", quoted(&text))], "$text".to_owned())
    };
    if let Some(equal) = pattern.strip_prefix('=') {
        let value = expand(equal.trim_matches('"'), CaptureStyle::None)?;
        read(walk, &value);
        let (holds, fails) = (
            format!("{variable} = {}", quoted(&value.text)),
            format!("{variable} != {}", quoted(&value.text)),
        );
        let (holds, fails) = if *negated { (fails, holds) } else { (holds, fails) };
        return Ok(TranslatedCondition::If { before, holds, fails, regex: None });
    }
    let regex = pattern.replace("\\ ", " ");
    if !is_balanced(&regex) {
        return Err("the regex is invalid".into());
    }
    if regex.is_empty() {
        return Ok(TranslatedCondition::Always(!*negated));
    }
    let sign = if condition.no_case { "*" } else { "" };
    let (holds, fails) =
        (format!("{variable} ~{sign} {}", quoted(&regex)), format!("{variable} !~{sign} {}", quoted(&regex)));
    let (holds, fails) = if *negated { (fails, holds) } else { (holds, fails) };
    Ok(TranslatedCondition::If { before, holds, fails, regex: (!*negated).then_some(regex) })
}

/// Records the variables that a translated text needs.
fn read(walk: &mut ApacheWalk<'_>, expanded: &ExpandedText) {
    walk.parts.uses_https |= expanded.https;
    walk.parts.env_read.extend(expanded.env.iter().map(|name| env_variable(name)));
}

/// Effect of a matching rule.
#[derive(Default)]
struct RuleAction {
    why: String,
    /// Single directive that suffices for a rule without conditions; `None` if there is none.
    direct: Option<String>,
    /// Directives `set` in `if ($rule)`.
    sets: Vec<String>,
    /// Last directive in `if ($rule)`; `None` if the rule only sets variables, or has no effect.
    end: Option<String>,
    /// Numbers of the captures of the pattern that need a variable.
    captures: Vec<usize>,
    condition_captures: Vec<usize>,
}

fn action(
    walk: &mut ApacheWalk<'_>,
    rule: &RewriteRule,
    conditions: &[RewriteCondition],
    tests: &[TranslatedCondition],
    regex: &str,
) -> Result<RuleAction, String> {
    let mut action = RuleAction::default();
    for condition in conditions {
        let expanded = expand(&condition.test, CaptureStyle::Variables(rule.number)).unwrap_or_default();
        action.captures.extend(expanded.of_rule);
    }
    for (name, value) in &rule.flags.env {
        environment(walk, rule, name, value, &mut action)?;
    }
    let sign = if rule.flags.no_case { "(?i)" } else { "" };
    let own = format!("{sign}{regex}");
    let asked = |negated: bool| {
        format!(
            "$uri {}~{} {}",
            if negated { "!" } else { "" },
            if rule.flags.no_case { "*" } else { "" },
            quoted(regex)
        )
    };
    let simple = |end: &str| Some(format!("if ({}) {{ {end} }}", asked(rule.negated)));
    if let Some(status) = rule.flags.status.filter(|status| !(300..400).contains(status)) {
        let end = format!("return {status};");
        action.why = format!("Returns status {status}.");
        (action.direct, action.end) = (simple(&end), Some(end));
    } else if rule.target == "-" {
        if rule.flags.status.is_some() {
            return Err("a redirect to \"-\" has no target".into());
        }
        action.why = if rule.flags.last {
            "Does not change the path, and evaluates no further rules.".into()
        } else {
            "Does not change the path.".into()
        };
        if rule.flags.last {
            (action.direct, action.end) = (simple("break;"), Some("break;".into()));
        }
    } else {
        target(walk, rule, conditions, tests, &own, &mut action)?;
    }
    action.captures.sort_unstable();
    action.captures.dedup();
    action.condition_captures.sort_unstable();
    action.condition_captures.dedup();
    Ok(action)
}

/// Translates the flag `E=NAME:VALUE`, or `E=!NAME`, which makes the variable empty. `HTTP_AUTHORIZATION` and
/// `REMOTE_USER` are ignored.
fn environment(
    walk: &mut ApacheWalk<'_>,
    rule: &RewriteRule,
    name: &str,
    value: &str,
    action: &mut RuleAction,
) -> Result<(), String> {
    // Such rules copy the field `Authorization`, which FastCGI passes to PHP like any other field.
    if name.eq_ignore_ascii_case("HTTP_AUTHORIZATION") || name.eq_ignore_ascii_case("REMOTE_USER") {
        return Ok(());
    }
    let (variable, value) = if let Some(name) = name.strip_prefix('!') {
        (env_variable(name), String::new())
    } else {
        let expanded = expand(value, CaptureStyle::Variables(rule.number))?;
        read(walk, &expanded);
        action.captures.extend(&expanded.of_rule);
        action.condition_captures.extend(&expanded.of_condition);
        (env_variable(name), expanded.text)
    };
    walk.parts.env_set.insert(variable.clone());
    action.sets.push(format!("set ${variable} {};", quoted(&value)));
    Ok(())
}

/// Translates the target of a rule: another path, or a redirect.
fn target(
    walk: &mut ApacheWalk<'_>,
    rule: &RewriteRule,
    conditions: &[RewriteCondition],
    tests: &[TranslatedCondition],
    own: &str,
    action: &mut RuleAction,
) -> Result<(), String> {
    let is_url = rule.target.contains("://") && !rule.target.starts_with('/');
    let status = rule.flags.status.or(is_url.then_some(302));
    if let Some((line, head)) = whole_request(rule, status)
        .filter(|(_, head)| head.of_condition.is_empty() || !is_of_path(conditions))
    {
        action.why =
            format!("Redirects to the same path at another host or scheme ({}).", status.unwrap_or(302));
        action.direct = Some(format!("if ($uri ~ {}) {{ {line} }}", quoted(own))).filter(|_| !rule.negated);
        action.end = Some(line);
        action.condition_captures.extend(&head.of_condition);
        read(walk, &head);
        return Ok(());
    }
    // A capture of the path is written in the same directive as the regex of its condition, so that nginx escapes it in
    // a redirect.
    let of_path = conditions.last().zip(tests.last()).and_then(|(condition, test)| match test {
        TranslatedCondition::If { regex: Some(regex), .. }
            if condition.test.eq_ignore_ascii_case("%{REQUEST_URI}") =>
        {
            Some(format!("{}{regex}", if condition.no_case { "(?i)" } else { "" }))
        }
        _ => None,
    });
    let uses_condition =
        rule.target.as_bytes().windows(2).any(|pair| pair[0] == b'%' && pair[1].is_ascii_digit());
    let (regex, expanded) = match of_path.filter(|_| uses_condition) {
        Some(of_path) => (of_path, expand(&rule.target, CaptureStyle::OfCondition)?),
        None => (own.to_owned(), expand(&rule.target, CaptureStyle::Direct(rule.number))?),
    };
    read(walk, &expanded);
    if rule.negated && !expanded.of_rule.is_empty() {
        return Err("a negated pattern has no captures".into());
    }
    let of_path = regex == own && !expanded.of_condition.is_empty() && is_of_path(conditions);
    if status.is_some() && (expanded.has_path || of_path || !expanded.env.is_empty()) {
        return Err(
            "a redirect to a part of the path that is not captured: write ( ) around it in the pattern"
                .into(),
        );
    }
    if regex == own {
        action.condition_captures.extend(&expanded.of_condition);
    }
    let path = placed(walk, rule, &expanded.text, is_url, regex != own);
    let path = query(rule, path);
    let regex = if rule.negated { "^".to_owned() } else { regex };
    let flag = match status {
        None if rule.flags.last => " last",
        None => "",
        Some(301) => " permanent",
        Some(302) => " redirect",
        Some(status) if expanded.of_rule.is_empty() && expanded.of_condition.is_empty() => {
            return other_status(rule, status, &path, own, action);
        }
        Some(status) => {
            return Err(format!(
                "a redirect with status {status} and captures: nginx's rewrite supports only 301 and 302"
            ));
        }
    };
    let end = format!("rewrite {} {}{flag};", quoted(&regex), word(&path));
    action.why = match status {
        Some(status) => format!("Redirects with status {status}."),
        None if rule.flags.last => "Replaces the path, and evaluates no further rules.".into(),
        None => "Replaces the path; the next rules use the new path.".into(),
    };
    action.direct = if rule.negated {
        Some(format!("if ($uri !~ {}) {{ {end} }}", quoted(own)))
    } else {
        Some(end.clone())
    };
    action.end = Some(end);
    Ok(())
}

/// Translates the target `https://%{HTTP_HOST}%{REQUEST_URI}`, which redirects with the original path and query.
/// Returns the directive, and the translated text before the path; `None` for other targets.
fn whole_request(rule: &RewriteRule, status: Option<u16>) -> Option<(String, ExpandedText)> {
    let head = rule
        .target
        .strip_suffix("%{REQUEST_URI}")
        .filter(|head| !head.contains('?') && head.contains("://"))?;
    let head = expand(head, CaptureStyle::Direct(rule.number)).ok()?;
    let is_plain = !head.has_path && head.of_rule.is_empty() && head.env.is_empty();
    let line = format!("return {} {};", status?, word(&format!("{}$request_uri", head.text)));
    is_plain.then_some((line, head))
}

/// Returns whether captures of the last condition may be parts of the decoded path, which is unsafe in a header. They
/// may also come from an environment variable or another capture.
fn is_of_path(conditions: &[RewriteCondition]) -> bool {
    conditions.last().is_some_and(|condition| {
        let test = condition.test.to_ascii_uppercase();
        test.contains("%{REQUEST_URI}")
            || test.contains("FILENAME}")
            || test.contains("%{ENV:")
            || test.contains('$')
    })
}

fn other_status(
    rule: &RewriteRule,
    status: u16,
    path: &str,
    own: &str,
    action: &mut RuleAction,
) -> Result<(), String> {
    let path = match path.strip_suffix('?') {
        Some(path) => path.to_owned(),
        None if path.contains('?') => {
            return Err(format!("a redirect with status {status} that appends to the query string"));
        }
        None => format!("{path}$is_args$args"),
    };
    let end = format!("return {status} {};", word(&path));
    action.why = format!("Redirects with status {status}.");
    action.direct =
        Some(format!("if ($uri {}~ {}) {{ {end} }}", if rule.negated { "!" } else { "" }, quoted(own)));
    action.end = Some(end);
    Ok(())
}

/// Returns the target as a path from the root of the site. Returns a URL, and any target outside of folders, unchanged.
fn placed(walk: &ApacheWalk<'_>, rule: &RewriteRule, text: &str, is_url: bool, of_path: bool) -> String {
    // `%{DOCUMENT_ROOT}` at the start of a target means the root of the site.
    let text = text.strip_prefix("${document_root}").unwrap_or(text);
    let is_path =
        text.starts_with('/') || text.starts_with("${uri}") || (of_path && rule.target.starts_with('%'));
    if is_url || is_path || walk.folder.is_none() {
        return text.to_owned();
    }
    let base = walk.rules.base.clone().or(walk.folder.clone()).unwrap_or_else(|| "/".into());
    format!("{base}{text}")
}

/// Adapts the query of a target: nginx appends the query of the request unless the target has a trailing `?`, Apache
/// only if the target has no query or the rule has the flag `QSA`, and not with the flag `QSD`.
fn query(rule: &RewriteRule, path: String) -> String {
    let has_own = path.contains('?');
    let bare = path.ends_with('?');
    if bare && !rule.flags.append_query {
        return path;
    }
    if (has_own && !rule.flags.append_query) || rule.flags.drop_query {
        return format!("{path}?");
    }
    path
}
