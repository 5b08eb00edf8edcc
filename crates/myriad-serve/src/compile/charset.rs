//! `charset` and the tables of `charset_map`.

use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};

use super::Compile;
use super::place::media_types;
use crate::runtime::{CharsetRules, Recode, TypeSet};

impl Compile<'_> {
    /// The tables, in both directions.
    pub(super) fn charset_maps(&mut self) {
        for map in &self.http.charset_maps {
            let [there, back] = if map.is_to_utf8() {
                Recode::with_utf8(&map.pairs)
            } else {
                Recode::between_bytes(&map.pairs)
            };
            let name = |name: &str| -> Box<[u8]> { name.to_ascii_lowercase().into_bytes().into() };
            let (from, to) = (name(&map.from), name(&map.to));
            self.charsets.known.extend([from.clone(), to.clone()]);
            self.charsets.tables.insert((from.clone(), to.clone()), there);
            self.charsets.tables.insert((to, from), back);
        }
    }

    /// None where no charset is to be named.
    pub(super) fn charset(&mut self, settings: &Settings) -> Option<Box<CharsetRules>> {
        let content = &settings.content;
        for name in [&content.charset, &content.source_charset].into_iter().flatten() {
            if !name.has_variables() {
                self.charsets.known.push(name.bytes().to_ascii_lowercase().into());
            }
        }
        let name = content.charset.as_ref()?;
        if let Some(source) = &content.source_charset {
            self.check_table(source, name);
        }
        Some(Box::new(CharsetRules {
            name: self.template(name),
            source: content.source_charset.as_ref().map(|source| self.template(source)),
            override_named: content.override_charset,
            types: TypeSet(media_types(&content.charset_types)),
        }))
    }

    fn check_table(&mut self, from: &Text, to: &Text) {
        let plain = !from.has_variables() && !to.has_variables();
        if plain
            && !from.bytes().eq_ignore_ascii_case(to.bytes())
            && self.charsets.table(from.bytes(), to.bytes()).is_none()
        {
            let message = format!(
                "no \"charset_map\" between the charsets \"{}\" and \"{}\"",
                from.lossy(),
                to.lossy()
            );
            self.errors.push(
                Diagnostic::error(from.span, message)
                    .help("write `charset_map FROM TO { … }` in `http`, or leave `source_charset` out"),
            );
        }
    }

    /// Whether bodies of the level may have to be converted.
    pub(super) fn may_convert(&self, settings: &Settings) -> bool {
        let content = &settings.content;
        !self.http.charset_maps.is_empty()
            && content.charset.is_some()
            && (content.source_charset.is_some() || content.override_charset)
    }
}
