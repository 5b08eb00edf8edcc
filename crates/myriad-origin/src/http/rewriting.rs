//! How an origin's redirects and cookies are made this server's own (`proxy_redirect`, `proxy_cookie_*`).

use myriad_script::{EvalError, Frame, Regex, Template};

use myriad_exchange::exchange::Request;

/// One rule; the first that fits rewrites the value.
pub(crate) enum Rewriting {
    /// A beginning, and what takes its place.
    Prefix {
        /// The beginning.
        from: Template,
        /// What takes its place.
        to: Template,
    },
    /// A domain, with or without a dot before it and in any case.
    Domain {
        /// The domain without its dot.
        from: Template,
        /// What takes its place.
        to: Template,
    },
    /// A regex; what takes the whole value's place may hold its captures.
    Regex {
        /// The regex.
        regex: Regex,
        /// What takes the value's place.
        to: Template,
    },
}

impl Rewriting {
    /// Whether it reads nothing but the embedder's variables. A regex has captures of its own, which show no difference
    /// to those of the rules.
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
    /// Rules for flags, by the cookie's name.
    pub flags: Vec<FlagRule>,
}

/// One `proxy_cookie_flags`.
pub(crate) struct FlagRule {
    /// Which cookies.
    pub cookie: CookieName,
    /// The flags as words; each may come out empty.
    pub flags: Vec<Template>,
}

/// Which cookies a rule is for.
pub(crate) enum CookieName {
    /// The one of that name, in any case.
    Exact(Template),
    /// Those whose name matches.
    Regex(Regex),
}

/// What the first rule that fits makes of a value.
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
