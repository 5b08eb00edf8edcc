//! `sub_filter` filter.

use myriad_conf::settings::Settings;
use myriad_http::media_types::TypeSet;
use myriad_log::LogLevel;
use myriad_script::{Frame, Template};

use super::settings::SubFilterSettings;
use super::substitute::{SubstitutionPair, TextSubstitution};
use crate::filters::wrap::{begin_text, is_bodiless, is_packed, wrap};
use myriad_exchange::exchange::{ContentResponse, Exchange, Filter, Request};
use myriad_exchange::runtime::SettingsCompiler;

/// Compiled `sub_filter*` of a location.
struct SubFilter {
    /// Patterns with their replacements, in source order.
    pairs: Vec<(Template, Template)>,
    /// `sub_filter_once`: true if only the first occurrence of each pattern is replaced.
    once: bool,
    /// `sub_filter_last_modified`: true if `Last-Modified` is preserved.
    last_modified: bool,
    /// `sub_filter_types`: media types in which texts are replaced.
    types: TypeSet,
}

/// Compiles `sub_filter*` of a configuration level; `None` if it has no pattern.
pub(crate) fn compiled(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
) -> Option<Box<dyn Filter<Exchange>>> {
    let settings = settings.feature::<SubFilterSettings>();
    let pairs: Vec<_> = settings
        .replacements
        .iter()
        .map(|pair| (compiler.answer_template(&pair.pattern), compiler.answer_template(&pair.replacement)))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    Some(Box::new(SubFilter {
        pairs,
        once: settings.once,
        last_modified: settings.last_modified,
        types: TypeSet::new(&settings.types),
    }))
}

impl Filter<Exchange> for SubFilter {
    fn name(&self) -> &'static str {
        "sub_filter"
    }

    fn changes(&self, media_type: &[u8]) -> bool {
        self.types.contains(media_type)
    }

    fn allows_shortcut(&self) -> bool {
        true
    }

    fn apply(&self, exchange: &mut Exchange, answer: &mut ContentResponse) {
        let empty = answer.known_length() == Some(0);
        // Text cannot be found in compressed data.
        if is_bodiless(answer) || empty || is_packed(answer) || !self.types.contains(answer.bare_media_type())
        {
            return;
        }
        let Exchange { request, frame } = exchange;
        let Some(substitute) = TextSubstitution::new(self.evaluated(request, frame), self.once) else {
            return;
        };
        begin_text(answer, request.place().files.etag, self.last_modified);
        wrap(answer, substitute);
    }
}

impl SubFilter {
    /// Evaluates the patterns and replacements for a request. A pair that cannot be evaluated is logged and omitted,
    /// because the response itself is valid.
    fn evaluated(&self, request: &Request, frame: &mut Frame) -> Vec<SubstitutionPair> {
        let mut pairs = Vec::with_capacity(self.pairs.len());
        for (pattern, replacement) in &self.pairs {
            let mut pair = SubstitutionPair { pattern: Vec::new(), replacement: Vec::new() };
            let evaluated = pattern
                .eval(request, frame, &mut pair.pattern)
                .and_then(|()| replacement.eval(request, frame, &mut pair.replacement));
            match evaluated {
                Ok(()) => pairs.push(pair),
                Err(error) => request.log(LogLevel::Error, format_args!("sub_filter: {error}")),
            }
        }
        pairs
    }
}
