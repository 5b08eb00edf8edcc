//! Directives of the page optimizer.

use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;
use myriad_conf::{Span, feature_settings, nearest};
use myriad_optimize::{Exclusions, FilterName, FilterSet};

/// Settings of the page optimizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OptimizeSettings {
    /// Position of `optimize safe`; `None` if pages are not optimized.
    pub is_on: Option<Span>,
    /// Changes of the default set of filters (`optimize_filters`): `+` or `-` and a name, such as `-combine_css`.
    pub filters: Vec<String>,
    /// URLs and elements that are left unchanged (`optimize_exclude`).
    pub exclude: Vec<String>,
    /// Part of the time of one core that the optimizer may use, in millionths (`optimize_budget`).
    pub budget_ppm: u32,
}

impl Default for OptimizeSettings {
    fn default() -> Self {
        Self { is_on: None, filters: Vec::new(), exclude: Vec::new(), budget_ppm: 100_000 }
    }
}

feature_settings!(OptimizeSettings);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "optimize",
        Contexts::HSL,
        ONE,
        Set::Settings(optimize),
        "Sends a smaller form of stored pages with the same meaning: `safe`, or `off`.",
    )
    .default("off")
    .own(),
    Directive::new(
        "optimize_filters",
        Contexts::HSL,
        at_least(1),
        Set::Settings(optimize_filters),
        "Adds filters to the page optimizer (+name), or removes them (-name).",
    )
    .repeats()
    .own(),
    Directive::new(
        "optimize_exclude",
        Contexts::HSL,
        at_least(1),
        Set::Settings(optimize_exclude),
        "URL patterns, and CSS selectors of elements, that the page optimizer leaves unchanged.",
    )
    .repeats()
    .own(),
    Directive::new(
        "optimize_budget",
        Contexts::HSL,
        ONE,
        Set::Settings(optimize_budget),
        "Part of the time of one core that the page optimizer may use.",
    )
    .default("10%")
    .own(),
];

fn optimize(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<OptimizeSettings>().is_on = match args.bytes(0) {
        b"off" => None,
        b"safe" => Some(args.node.span),
        b"full" => {
            return Err(args
                .error(0, "the filters that may change the timing of scripts are not available yet")
                .help("use the filters that change nothing that visitors see: optimize safe;"));
        }
        _ => return Err(args.invalid(0, "off or safe")),
    };
    Ok(())
}

fn optimize_filters(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let filters = &mut settings.feature_mut::<OptimizeSettings>().filters;
    args.start(filters);
    for index in 0..args.len() {
        let word = String::from_utf8_lossy(args.bytes(index)).into_owned();
        if let Err(reason) = FilterSet::safe().adjusted(&word) {
            let error = args.error(index, reason);
            let names = FilterName::ALL.map(FilterName::as_str);
            return Err(match nearest(word.trim_start_matches(['+', '-']), names) {
                Some(near) if word.starts_with(['+', '-']) => error.help(format!("did you mean \"{near}\"?")),
                _ => error.help(format!("filters: {}", names.join(", "))),
            });
        }
        filters.push(word);
    }
    Ok(())
}

fn optimize_exclude(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let exclude = &mut settings.feature_mut::<OptimizeSettings>().exclude;
    args.start(exclude);
    for index in 0..args.len() {
        let word = String::from_utf8_lossy(args.bytes(index)).into_owned();
        Exclusions::default().add(&word).map_err(|reason| args.error(index, &reason))?;
        exclude.push(word);
    }
    Ok(())
}

fn optimize_budget(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<OptimizeSettings>().budget_ppm = args.millionths_after(0, 0)?;
    Ok(())
}
