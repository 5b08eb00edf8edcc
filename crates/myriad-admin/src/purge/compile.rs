//! Compilation of `*_cache_purge`.

use myriad_conf::settings::Settings;
use myriad_script::Predicates;

use super::settings::{PurgeCondition, PurgeSettings};
use myriad_exchange::runtime::{PurgeRules, PurgeWhen, SettingsCompiler};

/// Compiles the purge rules of a configuration level; `None` if `*_cache_purge` defines no method and no condition
/// there.
pub fn rules(compile: &mut dyn SettingsCompiler, settings: &Settings) -> Option<Box<PurgeRules>> {
    let purge = settings.feature::<PurgeSettings>();
    let when = match &purge.when {
        PurgeCondition::Off => return None,
        PurgeCondition::Methods(methods) => {
            PurgeWhen::Methods(methods.iter().map(|method| method.as_bytes().into()).collect())
        }
        PurgeCondition::Texts(texts) => {
            PurgeWhen::Conditions(Predicates::new(texts.iter().map(|text| compile.template(text)).collect()))
        }
    };
    let from = purge.from.as_ref().map(|list| list.as_slice().into());
    Some(Box::new(PurgeRules { when, everything: purge.everything, from }))
}
