//! Rules that rewrite an origin's redirects and cookies (`proxy_redirect`, `proxy_cookie_*`).

use myriad_script::{EvalError, Frame, Regex, Template};

use myriad_exchange::exchange::Request;

/// Rule that rewrites a value of a response (`proxy_redirect`, `proxy_cookie_*`). Of several rules, only the first that
/// matches applies.
pub(crate) enum Rewriting {
    /// Replaces a prefix of the value.
    Prefix {
        /// Prefix of the values to which the rule applies.
        from: Template,
        /// Text that replaces the prefix.
        to: Template,
    },
    /// Replaces a domain, compared case-insensitively. A leading dot of the value is retained.
    Domain {
        /// Domain without a leading dot.
        from: Template,
        /// Domain that replaces `from`, without a leading dot.
        to: Template,
    },
    /// Replaces the whole value if a regular expression matches. The replacement may contain its captures.
    Regex {
        /// Pattern of the values to which the rule applies.
        regex: Regex,
        /// Text that replaces the whole value.
        to: Template,
    },
}

impl Rewriting {
    /// Returns whether the rule reads no captures and no variables assigned by rules such as `set`. Always false for a
    /// regular expression, whose captures cannot be distinguished from those of rewrite rules.
    pub(crate) fn is_plain(&self) -> bool {
        let plain = |template: &Template| template.reads_only(|_| true);
        match self {
            Self::Prefix { from, to } | Self::Domain { from, to } => plain(from) && plain(to),
            Self::Regex { .. } => false,
        }
    }
}

/// Rules of `proxy_cookie_domain`, `proxy_cookie_path` and `proxy_cookie_flags`.
#[derive(Default)]
pub(crate) struct CookieRewrites {
    /// Rules for the `Domain` attribute.
    pub domains: Vec<Rewriting>,
    /// Rules for the `Path` attribute.
    pub paths: Vec<Rewriting>,
    /// Rules for flags, by cookie name.
    pub flags: Vec<FlagRule>,
}

/// Rule of one `proxy_cookie_flags` directive.
pub(crate) struct FlagRule {
    /// Cookies that the rule applies to.
    pub cookie: CookieName,
    /// Flags as words, such as `secure`; each may evaluate to an empty text.
    pub flags: Vec<Template>,
}

/// Cookies to which a flag rule applies.
pub(crate) enum CookieName {
    /// Cookie with this name, compared case-insensitively.
    Exact(Template),
    /// Cookies whose name matches a pattern.
    Regex(Regex),
}

/// Returns the value rewritten by the first rule that matches; `None` if no rule matches.
pub(crate) fn apply(
    request: &Request,
    frame: &mut Frame,
    rules: &[Rewriting],
    value: &[u8],
) -> Result<Option<Vec<u8>>, EvalError> {
    for rule in rules {
        let mut out = Vec::new();
        match rule {
            Rewriting::Prefix { from, to } => {
                from.eval(request, frame, &mut out)?;
                let Some(rest) = value.strip_prefix(&out[..]) else { continue };
                out.clear();
                to.eval(request, frame, &mut out)?;
                out.extend_from_slice(rest);
            }
            Rewriting::Domain { from, to } => {
                from.eval(request, frame, &mut out)?;
                let bare = value.strip_prefix(b".").unwrap_or(value);
                if !bare.eq_ignore_ascii_case(&out) {
                    continue;
                }
                out.clear();
                out.extend_from_slice(&value[..value.len() - bare.len()]);
                to.eval(request, frame, &mut out)?;
            }
            Rewriting::Regex { regex, to } => {
                if !regex.matches(value, frame)? {
                    continue;
                }
                to.eval(request, frame, &mut out)?;
            }
        }
        return Ok(Some(out));
    }
    Ok(None)
}
