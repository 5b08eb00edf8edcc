//! Rules that rewrite an origin's redirects and cookies (`proxy_redirect`, `proxy_cookie_*`).

use myriad_script::{EvalError, Frame, Regex, Template};

use myriad_exchange::exchange::Request;

/// Rewriting rule; the first that matches rewrites the value.
pub(crate) enum Rewriting {
    /// Prefix and its replacement.
    Prefix {
        /// Prefix.
        from: Template,
        /// Replacement.
        to: Template,
    },
    /// Domain, case-insensitive, with or without a leading dot.
    Domain {
        /// Domain without its dot.
        from: Template,
        /// Replacement.
        to: Template,
    },
    /// Regular expression; the replacement of the whole value may contain its captures.
    Regex {
        /// Regular expression.
        regex: Regex,
        /// Replacement of the value.
        to: Template,
    },
}

impl Rewriting {
    /// Returns whether the rule only reads variables of the embedder. A regular expression has separate captures, which
    /// cannot be distinguished from those of rules.
    pub(crate) fn is_plain(&self) -> bool {
        let plain = |template: &Template| template.reads_only(|_| true);
        match self {
            Self::Prefix { from, to } | Self::Domain { from, to } => plain(from) && plain(to),
            Self::Regex { .. } => false,
        }
    }
}

/// `proxy_cookie_domain`, `_path`, `_flags`.
#[derive(Default)]
pub(crate) struct CookieRewrites {
    /// Rules for `Domain`.
    pub domains: Vec<Rewriting>,
    /// Rules for `Path`.
    pub paths: Vec<Rewriting>,
    /// Rules for flags, by cookie name.
    pub flags: Vec<FlagRule>,
}

/// Single `proxy_cookie_flags`.
pub(crate) struct FlagRule {
    /// Cookies that the rule applies to.
    pub cookie: CookieName,
    /// Flags as words; each may evaluate to an empty text.
    pub flags: Vec<Template>,
}

/// Cookie selection of a rule.
pub(crate) enum CookieName {
    /// Cookie of that name, case-insensitive.
    Exact(Template),
    /// Cookies whose name matches.
    Regex(Regex),
}

/// Applies the first rule that matches a value.
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
