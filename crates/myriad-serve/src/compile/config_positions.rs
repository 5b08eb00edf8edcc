//! Names and positions of configuration blocks, for `-t --explain`.

use myriad_conf::Text;
use myriad_conf::model::{LocationConf, Matcher};
use myriad_conf::settings::{Handler, OriginSettings, Settings};

use super::RuntimeCompiler;
use myriad_cache::settings::CacheSettings;
use myriad_exchange::runtime::{OriginLabel, PlaceId, PlaceLabel};

impl RuntimeCompiler<'_> {
    /// Returns the texts by which reports describe a compiled configuration level: its `*_pass` directive and its
    /// conditions of `*_cache_bypass` and `*_no_cache`; empty if the level has no origin.
    pub(super) fn label(&mut self, settings: &Settings) -> PlaceLabel {
        let Some(Handler::Origin { protocol, target, .. }) = &settings.handler else {
            return PlaceLabel::default();
        };
        let origin: &OriginSettings = settings.origin(*protocol);
        let cache = origin.own::<CacheSettings>();
        let bypass = self.in_rules(|compile| compile.labelled_templates(&cache.bypass));
        let handler = format!("{}pass {}", protocol.prefix(), target.lossy());
        let no_cache = self.labelled_templates(&cache.no_cache);
        PlaceLabel {
            origin: Some(Box::new(OriginLabel { handler, bypass, no_cache })),
            ..PlaceLabel::default()
        }
    }

    fn labelled_templates(&mut self, texts: &[Text]) -> Vec<(String, myriad_script::Template)> {
        // Errors of a text have already been reported where the text is compiled for use.
        let compiled = texts.iter().filter_map(|text| {
            let written = text.lossy();
            let template = self.scripts.template(&written).ok()?;
            Some((written.into_owned(), template))
        });
        compiled.collect()
    }

    /// Records the location to which the compiled settings `place` belong, such as `location ~ \.php$`, for display in
    /// reports.
    pub(super) fn name_location(&mut self, place: PlaceId, location: &LocationConf) {
        let mark = match location.matcher {
            Matcher::Exact => "= ",
            Matcher::PrefixNoRegex => "^~ ",
            Matcher::Regex { caseless: false } => "~ ",
            Matcher::Regex { caseless: true } => "~* ",
            Matcher::Prefix | Matcher::Named => "",
        };
        let label = &mut self.atlas.places[place as usize];
        label.name = format!("location {mark}{}", location.pattern.lossy()).into();
        label.span = location.span;
    }
}
