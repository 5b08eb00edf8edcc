//! Rewriting of `Set-Cookie` (`proxy_cookie_domain`, `_path`, `_flags`).

use std::borrow::Cow;

use myriad_script::{EvalError, Frame};

use super::rewriting::{CookieName, CookieRewrites, FlagRule, apply};
use myriad_exchange::exchange::Request;

/// Name of an attribute of a cookie, and its value if it has one.
type Attribute<'a> = (Cow<'a, [u8]>, Option<Cow<'a, [u8]>>);

/// Returns the rewritten value of a `Set-Cookie` field; `None` if no rule changes it, or if it does not start with
/// `NAME=`.
pub(crate) fn rewrite(
    request: &Request,
    frame: &mut Frame,
    rules: &CookieRewrites,
    cookie: &[u8],
) -> Result<Option<Vec<u8>>, EvalError> {
    let mut attributes: Vec<Attribute<'_>> = cookie.split(|byte| *byte == b';').map(attribute).collect();
    // The first part is the cookie itself, which must have a value.
    if attributes.first().is_none_or(|(_, value)| value.is_none()) {
        return Ok(None);
    }
    let mut changed = false;
    for (name, value) in &mut attributes[1..] {
        let Some(value) = value else { continue };
        let rules = if name.eq_ignore_ascii_case(b"domain") {
            &rules.domains
        } else if name.eq_ignore_ascii_case(b"path") {
            &rules.paths
        } else {
            continue;
        };
        if let Some(rewritten) = apply(request, frame, rules, value)? {
            *value = Cow::Owned(rewritten);
            changed = true;
        }
    }
    if let Some(flags) = flags_of(request, frame, &rules.flags, &attributes[0].0)? {
        flags.set(&mut attributes);
        changed = true;
    }
    Ok(changed.then(|| joined(&attributes)))
}

fn attribute(text: &[u8]) -> Attribute<'_> {
    match text.iter().position(|byte| *byte == b'=') {
        Some(at) => {
            (Cow::Borrowed(text[..at].trim_ascii()), Some(Cow::Borrowed(text[at + 1..].trim_ascii())))
        }
        None => (Cow::Borrowed(text.trim_ascii()), None),
    }
}

fn joined(attributes: &[Attribute<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, (name, value)) in attributes.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b"; ");
        }
        out.extend_from_slice(name);
        if let Some(value) = value {
            out.push(b'=');
            out.extend_from_slice(value);
        }
    }
    out
}

/// Flags of a cookie to change (`proxy_cookie_flags`); `None` leaves a flag unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    secure: Option<bool>,
    http_only: Option<bool>,
    same_site: Option<SameSite>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SameSite {
    Is(&'static str),
    Absent,
}

/// Returns the flags of the first rule that applies to the cookie; `None` if no rule applies, or if the flags of this
/// rule change nothing.
fn flags_of(
    request: &Request,
    frame: &mut Frame,
    rules: &[FlagRule],
    cookie: &[u8],
) -> Result<Option<Flags>, EvalError> {
    for rule in rules {
        let is_meant = match &rule.cookie {
            CookieName::Regex(regex) => regex.matches(cookie, frame)?,
            CookieName::Exact(name) => {
                let mut wanted = Vec::new();
                name.eval(request, frame, &mut wanted)?;
                wanted.eq_ignore_ascii_case(cookie)
            }
        };
        if is_meant {
            let mut flags = Flags::default();
            for template in &rule.flags {
                let mut word = Vec::new();
                template.eval(request, frame, &mut word)?;
                flags.take(&word);
            }
            return Ok((flags != Flags::default()).then_some(flags));
        }
    }
    Ok(None)
}

impl Flags {
    /// Applies a word such as `secure` to the flags; unknown words are ignored. As in nginx, `secure` overrides
    /// `nosecure`, `httponly` overrides `nohttponly`, and the strictest `samesite` applies.
    fn take(&mut self, word: &[u8]) {
        let strictness = |same_site: Option<SameSite>| match same_site {
            None => 0,
            Some(SameSite::Absent) => 1,
            Some(SameSite::Is("None")) => 2,
            Some(SameSite::Is("Lax")) => 3,
            Some(SameSite::Is(_)) => 4,
        };
        let same_site = match word.to_ascii_lowercase().as_slice() {
            b"secure" => return self.secure = Some(true),
            b"nosecure" => return self.secure = Some(self.secure.unwrap_or(false)),
            b"httponly" => return self.http_only = Some(true),
            b"nohttponly" => return self.http_only = Some(self.http_only.unwrap_or(false)),
            b"samesite=strict" => SameSite::Is("Strict"),
            b"samesite=lax" => SameSite::Is("Lax"),
            b"samesite=none" => SameSite::Is("None"),
            b"nosamesite" => SameSite::Absent,
            _ => return,
        };
        if strictness(Some(same_site)) > strictness(self.same_site) {
            self.same_site = Some(same_site);
        }
    }

    fn set(self, attributes: &mut Vec<Attribute<'_>>) {
        set_flag(attributes, "Secure", self.secure);
        set_flag(attributes, "HttpOnly", self.http_only);
        let is_same_site = |(name, _): &Attribute<'_>| name.eq_ignore_ascii_case(b"samesite");
        match self.same_site {
            None => {}
            Some(SameSite::Absent) => retain_rest(attributes, |attribute| !is_same_site(attribute)),
            Some(SameSite::Is(wanted)) => {
                let found = attributes.iter_mut().skip(1).find(|attribute| is_same_site(attribute));
                let Some((name, value)) = found else {
                    let value = Cow::Borrowed(wanted.as_bytes());
                    return attributes.push((Cow::Borrowed(b"SameSite"), Some(value)));
                };
                if !value.as_ref().is_some_and(|value| value.eq_ignore_ascii_case(wanted.as_bytes())) {
                    *name = Cow::Borrowed(b"SameSite");
                    *value = Some(Cow::Borrowed(wanted.as_bytes()));
                }
            }
        }
    }
}

fn set_flag(attributes: &mut Vec<Attribute<'_>>, flag: &'static str, wanted: Option<bool>) {
    let is_flag = |(name, _): &Attribute<'_>| name.eq_ignore_ascii_case(flag.as_bytes());
    match wanted {
        Some(true) if !attributes.iter().skip(1).any(is_flag) => {
            attributes.push((Cow::Borrowed(flag.as_bytes()), None));
        }
        Some(false) => retain_rest(attributes, |attribute| !is_flag(attribute)),
        _ => {}
    }
}

/// Removes the attributes of a cookie for which `keep` returns false. The cookie's name and value, the first element,
/// always remain.
fn retain_rest(attributes: &mut Vec<Attribute<'_>>, keep: impl Fn(&Attribute<'_>) -> bool) {
    let mut first = true;
    attributes.retain(|attribute| std::mem::take(&mut first) || keep(attribute));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(words: &[&str], cookie: &str) -> String {
        let mut flags = Flags::default();
        for word in words {
            flags.take(word.as_bytes());
        }
        let mut attributes: Vec<_> = cookie.as_bytes().split(|byte| *byte == b';').map(attribute).collect();
        flags.set(&mut attributes);
        String::from_utf8(joined(&attributes)).unwrap()
    }

    #[test]
    fn flags_are_set_once() {
        assert_eq!(with(&["secure", "httponly"], "a=b; Secure"), "a=b; Secure; HttpOnly");
        assert_eq!(with(&["samesite=strict"], "a=b"), "a=b; SameSite=Strict");
        assert_eq!(with(&["samesite=lax"], "a=b; samesite=strict; x"), "a=b; SameSite=Lax; x");
        assert_eq!(with(&["samesite=lax"], "a=b; samesite=lax"), "a=b; samesite=lax");
    }

    #[test]
    fn flags_are_cleared_but_the_cookie_stays() {
        assert_eq!(with(&["nosecure"], "secure=1; Secure; Path=/"), "secure=1; Path=/");
        assert_eq!(with(&["nosamesite", "nohttponly"], "a=b; HttpOnly; SameSite=None"), "a=b");
    }

    #[test]
    fn what_sets_a_flag_overrules_what_clears_it() {
        assert_eq!(with(&["secure", "nosecure"], "a=b"), "a=b; Secure");
        assert_eq!(with(&["samesite=none", "samesite=strict"], "a=b"), "a=b; SameSite=Strict");
    }
}
