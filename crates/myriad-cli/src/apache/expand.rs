//! Translation of Apache's variables `%{NAME}`, `$1` and `%1` to nginx variables.

use std::fmt::Write as _;

/// Text with Apache's variables and captures, translated to nginx's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExpandedText {
    pub(crate) text: String,
    /// Names of `%{ENV:…}` in the text.
    pub(crate) env: Vec<String>,
    /// True if the text contains `%{HTTPS}`.
    pub(crate) https: bool,
    /// True if the text contains the decoded path of the request, which is unsafe in a header.
    pub(crate) has_path: bool,
    /// Numbers of the captures of the rule that the text contains.
    pub(crate) of_rule: Vec<usize>,
    pub(crate) of_condition: Vec<usize>,
}

/// Form in which captures are written.
#[derive(Clone, Copy)]
pub(crate) enum CaptureStyle {
    /// `$1` refers to the regex of the same directive; captures of a condition are variables of the rule with this
    /// number.
    Direct(usize),
    /// All captures are variables of the rule with this number.
    Variables(usize),
    /// `%1` becomes `$1`, because the regex is that of the condition.
    OfCondition,
    /// There are no captures: `$1` and `%1` are errors.
    None,
}

/// Returns the name of the variable for a capture of a rule or of its condition.
pub(crate) fn capture(rule: usize, of_condition: bool, index: usize) -> String {
    format!("{}{rule}_{index}", if of_condition { "condition" } else { "rule" })
}

/// Translates a text with Apache's variables and captures, which are written as `captures` specifies. The error names
/// the part that has no counterpart in nginx.
pub(crate) fn expand(text: &str, captures: CaptureStyle) -> Result<ExpandedText, String> {
    let mut out = ExpandedText::default();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek().copied()) {
            ('\\', Some(next @ ('$' | '%'))) => {
                letters.next();
                if next == '$' {
                    return Err(
                        "a \"$\" that does not start a variable cannot be written in nginx's language".into(),
                    );
                }
                out.text.push(next);
            }
            ('\\', Some(' ')) => {}
            ('%', Some('{')) => {
                letters.next();
                let name: String = letters.by_ref().take_while(|letter| *letter != '}').collect();
                variable(&name, &mut out)?;
            }
            (sign @ ('$' | '%'), Some(digit @ '0'..='9')) => {
                letters.next();
                let index = digit as usize - '0' as usize;
                one(sign == '%', index, captures, letters.peek().copied(), &mut out)?;
            }
            ('$', Some('{')) => return Err("RewriteMap has no counterpart: write a map block".into()),
            ('$', _) => {
                return Err(
                    "a \"$\" that does not start a variable cannot be written in nginx's language".into()
                );
            }
            (letter, _) => out.text.push(letter),
        }
    }
    Ok(out)
}

/// Returns the name of the nginx variable for an environment variable of Apache: `env_` and the name in lower case, in
/// which other characters than ASCII letters and digits become `_`.
pub(crate) fn env_variable(name: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    format!("env_{}", name.chars().map(letter).collect::<String>())
}

fn one(
    of_condition: bool,
    index: usize,
    captures: CaptureStyle,
    next: Option<char>,
    out: &mut ExpandedText,
) -> Result<(), String> {
    if index == 0 {
        return Err("$0 and %0 have no counterpart: enclose the whole pattern in ( ) and write $1".into());
    }
    let name = match captures {
        CaptureStyle::None => return Err("captures are not available here".into()),
        CaptureStyle::Direct(_) if !of_condition => index.to_string(),
        CaptureStyle::OfCondition if of_condition => index.to_string(),
        CaptureStyle::OfCondition => return Err("$1 and %1 in the same target have no counterpart".into()),
        CaptureStyle::Direct(rule) | CaptureStyle::Variables(rule) => capture(rule, of_condition, index),
    };
    let list = if of_condition { &mut out.of_condition } else { &mut out.of_rule };
    list.push(index);
    push(&name, next, out);
    Ok(())
}

/// Appends a variable, in braces if the next character could be part of its name. A capture needs no braces: `$` takes
/// a single digit.
fn push(name: &str, next: Option<char>, out: &mut ExpandedText) {
    let is_digit = name.len() == 1;
    let joins = !is_digit && next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '_');
    if joins {
        let _ = write!(out.text, "${{{name}}}");
    } else {
        let _ = write!(out.text, "${name}");
    }
}

fn variable(name: &str, out: &mut ExpandedText) -> Result<(), String> {
    let upper = name.to_ascii_uppercase();
    if let Some(field) = upper.strip_prefix("HTTP:") {
        let _ = write!(out.text, "${{http_{}}}", field.to_ascii_lowercase().replace('-', "_"));
        return is_name(field, name);
    }
    if upper.starts_with("ENV:") {
        let of = &name[4..];
        out.env.push(of.to_owned());
        let _ = write!(out.text, "${{{}}}", env_variable(of));
        return is_name(of, name);
    }
    let word = match upper.as_str() {
        "HTTPS" => {
            out.https = true;
            "apache_https"
        }
        "REQUEST_URI" => {
            out.has_path = true;
            "uri"
        }
        "REQUEST_FILENAME" | "SCRIPT_FILENAME" => {
            out.has_path = true;
            "request_filename"
        }
        "HTTP_HOST" => "http_host",
        "HTTP_USER_AGENT" => "http_user_agent",
        "HTTP_REFERER" => "http_referer",
        "HTTP_COOKIE" => "http_cookie",
        "HTTP_ACCEPT" => "http_accept",
        "HTTP_FORWARDED" => "http_forwarded",
        "QUERY_STRING" => "args",
        "DOCUMENT_ROOT" => "document_root",
        "REQUEST_METHOD" => "request_method",
        "REQUEST_SCHEME" => "scheme",
        "THE_REQUEST" => "request",
        "REMOTE_ADDR" | "REMOTE_HOST" => "remote_addr",
        "REMOTE_PORT" => "remote_port",
        "REMOTE_USER" => "remote_user",
        "SERVER_NAME" => "host",
        "SERVER_ADDR" => "server_addr",
        "SERVER_PORT" => "server_port",
        "SERVER_PROTOCOL" => "server_protocol",
        _ => return Err(format!("%{{{name}}} has no counterpart")),
    };
    let _ = write!(out.text, "${{{word}}}");
    Ok(())
}

fn is_name(text: &str, whole: &str) -> Result<(), String> {
    let sound = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if sound { Ok(()) } else { Err(format!("%{{{whole}}} is not a valid variable name")) }
}

/// Returns whether a text consists of a single variable, as required on the left side of `if`.
pub(crate) fn is_variable(text: &str) -> bool {
    let name =
        text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or_else(|| text.strip_prefix('$'));
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Removes unnecessary braces if the text is a single variable; returns other texts unchanged.
pub(crate) fn bare(text: &str) -> String {
    if is_variable(text) { text.replace(['{', '}'], "") } else { text.to_owned() }
}
