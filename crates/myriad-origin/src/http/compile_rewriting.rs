//! Compilation of `proxy_redirect` and `proxy_cookie_*`.

use crate::OriginCompiler;
use myriad_conf::Text;
use myriad_script::Template;

use super::place::HttpPlace;
use super::rewriting::{CookieName, CookieRewrites, FlagRule, Rewriting};
use super::settings::{CookieFlags, HttpSettings, Redirect};

/// Compiles the `proxy_redirect` rules of a location. `url` is the value of its `proxy_pass`.
pub(super) fn redirects(
    compile: &mut dyn OriginCompiler,
    own: &HttpSettings,
    url: &Text,
    place: &HttpPlace,
) -> Vec<Rewriting> {
    let rules = own.redirects.iter();
    rules
        .filter_map(|rule| match rule {
            Redirect::Default => default_redirect(url, place),
            Redirect::Prefix { from, to } => Some(Rewriting::Prefix {
                from: compile.origin_template(from),
                to: compile.origin_template(to),
            }),
            Redirect::Regex { pattern, caseless, to } => regex_rewriting(compile, pattern, *caseless, to),
        })
        .collect()
}

/// Compiles the `proxy_cookie_domain`, `_path` and `_flags` rules; `None` if there are none.
pub(super) fn cookies(compile: &mut dyn OriginCompiler, own: &HttpSettings) -> Option<Box<CookieRewrites>> {
    if own.cookie_domains.is_empty() && own.cookie_paths.is_empty() && own.cookie_flags.is_empty() {
        return None;
    }
    let domains = own.cookie_domains.iter().filter_map(|rule| match rule {
        Redirect::Prefix { from, to } => {
            let (from, to) =
                (compile.origin_template(&without_dot(from)), compile.origin_template(&without_dot(to)));
            Some(Rewriting::Domain { from, to })
        }
        // Domains are compared case-insensitively, so patterns are too.
        Redirect::Regex { pattern, to, .. } => regex_rewriting(compile, pattern, true, to),
        Redirect::Default => None,
    });
    let domains = domains.collect();
    let paths = own.cookie_paths.iter().filter_map(|rule| match rule {
        Redirect::Prefix { from, to } => {
            Some(Rewriting::Prefix { from: compile.origin_template(from), to: compile.origin_template(to) })
        }
        Redirect::Regex { pattern, caseless, to } => regex_rewriting(compile, pattern, *caseless, to),
        Redirect::Default => None,
    });
    let paths = paths.collect();
    let flags = own.cookie_flags.iter().filter_map(|rule| flag_rule(compile, rule)).collect();
    Some(Box::new(CookieRewrites { domains, paths, flags }))
}

fn flag_rule(compile: &mut dyn OriginCompiler, rule: &CookieFlags) -> Option<FlagRule> {
    let cookie = match rule.cookie.bytes() {
        [b'~', pattern @ ..] => {
            CookieName::Regex(compile.pattern(&Text::new(pattern, rule.cookie.span), true)?)
        }
        _ => CookieName::Exact(compile.origin_template(&rule.cookie)),
    };
    Some(FlagRule { cookie, flags: rule.flags.iter().map(|flag| compile.origin_template(flag)).collect() })
}

fn regex_rewriting(
    compile: &mut dyn OriginCompiler,
    pattern: &Text,
    caseless: bool,
    to: &Text,
) -> Option<Rewriting> {
    let regex = compile.pattern(pattern, caseless)?;
    Some(Rewriting::Regex { regex, to: compile.origin_template(to) })
}

/// Returns the rule of `proxy_redirect default`, which maps the URL of `proxy_pass` to the location, or to `/` if the
/// URL has no path. `None` if the URL contains variables or is invalid.
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
