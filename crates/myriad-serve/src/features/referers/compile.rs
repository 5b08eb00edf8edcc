//! Compilation of `valid_referers` into matchers.

use myriad_conf::model::ServerName;
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};

use super::settings::RefererSettings;
use super::valid_referers::ValidReferers;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

/// Stores the compiled `valid_referers` in `features`, if the level has any. Reports an error if `none` or `blocked` is
/// given without any site.
pub(crate) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let settings = settings.feature::<RefererSettings>();
    let mut referers = ValidReferers::default();
    (referers.none, referers.blocked) = (settings.none, settings.blocked);
    if settings.server_names {
        for name in compiler.server_names() {
            referer_by_server_name(compiler, &name, &mut referers);
        }
    }
    for word in &settings.words {
        referer(compiler, word, &mut referers);
    }
    if !referers.lists_no_site() {
        features.insert(referers);
    } else if settings.none || settings.blocked {
        let message = "the \"none\" or \"blocked\" referers are specified in the \"valid_referers\" \
                       directive without any valid referer";
        compiler.report(Diagnostic::error(settings.at, message).help("add a host"));
    }
}

fn referer(compiler: &mut dyn SettingsCompiler, word: &Text, referers: &mut ValidReferers) {
    let bytes = word.bytes();
    if let Some(pattern) = bytes.strip_prefix(b"~") {
        let pattern = Text::new(pattern, word.span);
        if let Some(regex) = compiler.regex(&pattern) {
            referers.add_url_regex(regex);
        }
        return;
    }
    let (host, path) = match bytes.iter().position(|byte| *byte == b'/') {
        Some(at) => bytes.split_at(at),
        None => (bytes, &b""[..]),
    };
    let inner = host.strip_prefix(b"*.").or_else(|| host.strip_suffix(b".*")).unwrap_or(host);
    if inner.is_empty() || inner.contains(&b'*') {
        let message = format!("invalid hostname or wildcard \"{}\"", word.lossy());
        compiler.report(Diagnostic::error(word.span, message));
        return;
    }
    referers.add(host, path);
}

fn referer_by_server_name(
    compiler: &mut dyn SettingsCompiler,
    name: &ServerName,
    referers: &mut ValidReferers,
) {
    match name {
        ServerName::Exact(name) if name.is_empty() => {}
        ServerName::Exact(name) | ServerName::Dot(name) => referers.add(name.as_bytes(), b""),
        ServerName::WildcardPrefix(suffix) => referers.add(format!("*{suffix}").as_bytes(), b""),
        ServerName::WildcardSuffix(prefix) => referers.add(format!("{prefix}*").as_bytes(), b""),
        ServerName::Hostname => {
            referers.add(rustix::system::uname().nodename().to_bytes(), b"");
        }
        ServerName::Regex(pattern) => {
            if let Some(regex) = compiler.regex(pattern) {
                referers.add_host_regex(regex);
            }
        }
    }
}
