//! `proxy_redirect` and `proxy_cookie_*`.

use myriad_conf::Text;
use myriad_conf::settings::{CookieFlags, OriginSettings, Redirect};
use myriad_script::{Regex, Template};

use super::Compile;
use crate::runtime::{CookieName, CookieRewrites, FlagRule, HttpPlace, Rewriting};

impl Compile<'_> {
    pub(super) fn redirects(
        &mut self,
        origin: &OriginSettings,
        url: &Text,
        place: &HttpPlace,
    ) -> Vec<Rewriting> {
        let rules = origin.redirects.iter();
        rules
            .filter_map(|rule| match rule {
                Redirect::Default => default_redirect(url, place),
                Redirect::Prefix { from, to } => {
                    Some(Rewriting::Prefix { from: self.template(from), to: self.template(to) })
                }
                Redirect::Regex { pattern, caseless, to } => self.regex_rewriting(pattern, *caseless, to),
            })
            .collect()
    }

    pub(super) fn cookies(&mut self, origin: &OriginSettings) -> Option<Box<CookieRewrites>> {
        if origin.cookie_domains.is_empty()
            && origin.cookie_paths.is_empty()
            && origin.cookie_flags.is_empty()
        {
            return None;
        }
        let domains = origin.cookie_domains.iter().filter_map(|rule| match rule {
            Redirect::Prefix { from, to } => {
                let (from, to) = (self.template(&without_dot(from)), self.template(&without_dot(to)));
                Some(Rewriting::Domain { from, to })
            }
            // Domains are compared without regard to case, so patterns are too.
            Redirect::Regex { pattern, to, .. } => self.regex_rewriting(pattern, true, to),
            Redirect::Default => None,
        });
        let domains = domains.collect();
        let paths = origin.cookie_paths.iter().filter_map(|rule| match rule {
            Redirect::Prefix { from, to } => {
                Some(Rewriting::Prefix { from: self.template(from), to: self.template(to) })
            }
            Redirect::Regex { pattern, caseless, to } => self.regex_rewriting(pattern, *caseless, to),
            Redirect::Default => None,
        });
        let paths = paths.collect();
        let flags = origin.cookie_flags.iter().filter_map(|rule| self.flag_rule(rule)).collect();
        Some(Box::new(CookieRewrites { domains, paths, flags }))
    }

    fn flag_rule(&mut self, rule: &CookieFlags) -> Option<FlagRule> {
        let cookie = match rule.cookie.bytes() {
            [b'~', pattern @ ..] => {
                CookieName::Regex(self.rewriting_regex(&Text::new(pattern, rule.cookie.span), true)?)
            }
            _ => CookieName::Exact(self.template(&rule.cookie)),
        };
        Some(FlagRule { cookie, flags: rule.flags.iter().map(|flag| self.template(flag)).collect() })
    }

    fn regex_rewriting(&mut self, pattern: &Text, caseless: bool, to: &Text) -> Option<Rewriting> {
        let regex = self.rewriting_regex(pattern, caseless)?;
        Some(Rewriting::Regex { regex, to: self.template(to) })
    }

    fn rewriting_regex(&mut self, pattern: &Text, caseless: bool) -> Option<Regex> {
        let source = self.utf8(pattern);
        match self.scripts.regex(source, caseless) {
            Ok(regex) => Some(regex),
            Err(error) => {
                self.fail(pattern.span, error);
                None
            }
        }
    }
}

/// From the URL back to the location; none where variables make the URL.
fn default_redirect(url: &Text, place: &HttpPlace) -> Option<Rewriting> {
    let parsed = place.url.as_ref()?;
    let constant = |text: &[u8]| Template::constant(text);
    Some(if parsed.uri.is_empty() {
        Rewriting::Prefix { from: constant(&[url.bytes(), b"/"].concat()), to: constant(b"/") }
    } else {
        Rewriting::Prefix { from: constant(url.bytes()), to: constant(&place.prefix) }
    })
}

fn without_dot(text: &Text) -> Text {
    Text::new(text.bytes().strip_prefix(b".").unwrap_or(text.bytes()), text.span)
}
