//! `valid_referers`.

use myriad_conf::model::ServerName;
use myriad_conf::settings::RefererSettings;
use myriad_conf::{Diagnostic, Text};

use super::Compile;
use crate::runtime::Referers;

impl Compile<'_> {
    /// From where visitors may come; none where that does not matter.
    pub(super) fn referers(&mut self, settings: &RefererSettings) -> Option<Box<Referers>> {
        let mut referers = Referers::default();
        (referers.none, referers.blocked) = (settings.none, settings.blocked);
        if settings.server_names {
            for name in std::mem::take(&mut self.server_names) {
                self.referer_by_server_name(&name, &mut referers);
                self.server_names.push(name);
            }
        }
        for word in &settings.words {
            self.referer(word, &mut referers);
        }
        if !referers.names_nobody() {
            return Some(Box::new(referers));
        }
        if settings.none || settings.blocked {
            let message = "the \"none\" or \"blocked\" referers are specified in the \"valid_referers\" \
                           directive without any valid referer";
            self.errors.push(Diagnostic::error(settings.at, message).help("name a host too"));
        }
        None
    }

    fn referer(&mut self, word: &Text, referers: &mut Referers) {
        let bytes = word.bytes();
        if let Some(pattern) = bytes.strip_prefix(b"~") {
            let pattern = Text::new(pattern, word.span);
            let source = self.utf8(&pattern).to_owned();
            match self.scripts.regex(&source, true) {
                Ok(regex) => referers.add_url_regex(regex),
                Err(error) => self.fail(word.span, error),
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
            self.errors.push(Diagnostic::error(word.span, message));
            return;
        }
        referers.add(host, path);
    }

    fn referer_by_server_name(&mut self, name: &ServerName, referers: &mut Referers) {
        match name {
            ServerName::Exact(name) if name.is_empty() => {}
            ServerName::Exact(name) | ServerName::Dot(name) => referers.add(name.as_bytes(), b""),
            ServerName::WildcardPrefix(suffix) => referers.add(format!("*{suffix}").as_bytes(), b""),
            ServerName::WildcardSuffix(prefix) => referers.add(format!("{prefix}*").as_bytes(), b""),
            ServerName::Hostname => {
                referers.add(rustix::system::uname().nodename().to_bytes(), b"");
            }
            ServerName::Regex(pattern) => {
                let source = self.utf8(pattern).to_owned();
                match self.scripts.regex(&source, true) {
                    Ok(regex) => referers.add_host_regex(regex),
                    Err(error) => self.fail(pattern.span, error),
                }
            }
        }
    }
}
