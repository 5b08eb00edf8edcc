//! Directive and settings of `cache_keep_assets`.

use myriad_conf::feature_settings;
use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult};
use myriad_conf::settings::Settings;

/// Setting of `cache_keep_assets`: retention time of style sheets and scripts that stored pages reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AssetSettings {
    /// Retention time of a file (style sheet, script) in milliseconds; at least three quarters of it remain after the
    /// last page that references the file was stored. `None` for `off`.
    pub keep_ms: Option<u64>,
}

feature_settings!(AssetSettings);

/// Maximum retention time of `cache_keep_assets` in milliseconds: 30 days.
const LONGEST_MS: u64 = 30 * 86_400_000;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "cache_keep_assets",
    Contexts::HSL,
    ONE,
    Set::Settings(cache_keep_assets),
    "Retention time of style sheets and scripts (files) that stored pages reference, after the last such page was \
         stored: they are served if the origin responds with 404 or 410 for a deleted file.",
)
.default("off")
.own()];

fn cache_keep_assets(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let keep = &mut settings.feature_mut::<AssetSettings>().keep_ms;
    if args.bytes(0) == b"off" {
        *keep = None;
        return Ok(());
    }
    let ms = args.millis(0)?;
    if !(1_000..=LONGEST_MS).contains(&ms) {
        return Err(args.invalid(0, "`off`, or a time from 1s to 30d"));
    }
    *keep = Some(ms);
    Ok(())
}
