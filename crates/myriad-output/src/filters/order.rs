//! List of filters in the order of their application.

use myriad_conf::settings::Settings;

use super::{charset, gunzip, ssi, sub_filter};
use crate::slice;
use myriad_exchange::exchange::{Exchange, Filter, Filters};
use myriad_exchange::runtime::SettingsCompiler;

/// Compilation of a filter for a level; returns `None` if the filter is off.
type CompileFilter = fn(&mut dyn SettingsCompiler, &Settings) -> Option<Box<dyn Filter<Exchange>>>;

/// Filters in the order of their application: slices are joined first, and text filters run before compression, which
/// [`send`](crate::send) applies. The rest is nginx's order: `addition` runs after all filters that change the page
/// itself.
const ORDER: &[CompileFilter] = &[
    slice::compiled,
    gunzip::compiled,
    sub_filter::compiled,
    charset::compiled,
    ssi::compiled,
    #[cfg(feature = "nginx-extras")]
    super::addition::compiled,
];

/// Returns the compiled filters of a configuration level, in the order of their application.
pub fn compiled(compiler: &mut dyn SettingsCompiler, settings: &Settings) -> Filters<Exchange> {
    Filters::new(ORDER.iter().filter_map(|compiled| compiled(compiler, settings)).collect())
}
