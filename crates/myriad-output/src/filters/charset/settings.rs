//! Settings of the charset module.

use myriad_conf::model::HttpConf;
use myriad_conf::{Span, Text};

/// Settings of `charset*` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharsetSettings {
    /// `charset`: charset that is added to media types; `None` for `off`. May contain variables.
    pub name: Option<Text>,
    /// `source_charset`: assumed charset of responses that specify none; `None` if not configured. May contain
    /// variables.
    pub source: Option<Text>,
    /// `charset_types`, in lower case: media types to which the charset is added; `*` alone means every type.
    pub types: Vec<String>,
    /// `override_charset`: true if responses that specify a charset are converted too.
    pub override_named: bool,
}

/// One `charset_map FROM TO { … }`: conversion of non-ASCII characters between two charsets, in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CharsetMapConf {
    /// First charset, with one byte per character.
    pub from: String,
    /// Second charset: UTF-8, or also with one byte per character.
    pub to: String,
    /// Pairs of equivalent characters, in source order: a byte of the first charset, and one to three bytes of the
    /// second.
    pub pairs: Vec<(u8, Vec<u8>)>,
    /// Position of the directive.
    pub span: Span,
}

impl CharsetMapConf {
    /// Returns whether the second charset of the `charset_map` is UTF-8.
    pub(super) fn is_to_utf8(&self) -> bool {
        self.to.eq_ignore_ascii_case("utf-8")
    }
}

/// All `charset_map` of the configuration, in source order; stored in the settings of `http`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharsetMaps(pub Vec<CharsetMapConf>);

impl CharsetMaps {
    /// Returns all `charset_map` of a configuration.
    pub(super) fn of(http: &HttpConf) -> &[CharsetMapConf] {
        &http.settings.feature::<Self>().0
    }
}

myriad_conf::feature_settings!(CharsetSettings);
myriad_conf::feature_settings!(CharsetMaps);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use myriad_conf::{MemoryLoader, build};

    use super::super::directives::ROWS;
    use super::CharsetSettings;
    use myriad_conf::registry::{DirectiveFamily, Registry};

    fn settings(text: &str) -> CharsetSettings {
        let file = format!("http {{ server {{ location / {{ {text} }} }} }}");
        let path = Path::new("/conf/nginx.conf");
        let registry = Registry::new([DirectiveFamily::new("charset", ROWS)], []);
        let parsed = registry.parse(&MemoryLoader::with(path, file), path, b"");
        let model = build(&parsed, &registry).expect("a valid configuration");
        model.http.expect("a block").servers[0].locations[0].settings.feature::<CharsetSettings>().clone()
    }

    #[test]
    fn charset_is_off_or_named_for_some_types() {
        let none = settings("");
        assert!(none.name.is_none() && none.types.len() == 6);
        let some = settings("charset utf-8; charset_types text/css; override_charset on;");
        assert_eq!(some.name.expect("a name").bytes(), b"utf-8");
        assert_eq!(some.types, ["text/html", "text/css"]);
        assert!(some.override_named && settings("charset off;").name.is_none());
    }
}
