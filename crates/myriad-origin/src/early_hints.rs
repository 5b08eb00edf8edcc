//! `early_hints`: forwarding of 103 responses of an origin to the client.

use myriad_conf::Text;
use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;
use myriad_script::Predicates;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

/// Values of `early_hints`. 103 responses of the origin are forwarded if one of these values is neither empty nor `0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct EarlyHintSettings(Vec<Text>);

myriad_conf::feature_settings!(EarlyHintSettings);

/// Rows of the `early_hints` directive.
pub static ROWS: &[Directive] = &[Directive::new(
    "early_hints",
    Contexts::HSL,
    at_least(1),
    Set::Settings(early_hints),
    "Forwards 103 (Early Hints) responses of an HTTP origin if at least one value is neither empty nor 0.",
)];

fn early_hints(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<EarlyHintSettings>().0 =
        (0..args.len()).map(|index| args.text(index)).collect::<Result<_, _>>()?;
    Ok(())
}

/// Compiled `early_hints` of a location.
struct EarlyHints(Predicates);

/// Stores the compiled `early_hints` of a location in `features`, if it has any.
pub fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let texts = &settings.feature::<EarlyHintSettings>().0;
    if !texts.is_empty() {
        features.insert(EarlyHints(Predicates::new(
            texts.iter().map(|text| compiler.origin_template(text)).collect(),
        )));
    }
}

/// Returns whether `early_hints` of the location enables forwarding of 103 responses to the client; false if a value
/// cannot be evaluated.
pub(super) fn is_enabled(exchange: &mut Exchange) -> bool {
    let Exchange { request, frame } = exchange;
    let rules = request.place().features.get::<EarlyHints>();
    rules.is_some_and(|rules| rules.0.any_true(request, frame).unwrap_or(false))
}
