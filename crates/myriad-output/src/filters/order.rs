//! List of filters in the order of their application.

use myriad_conf::settings::Settings;

use super::{charset, gunzip, ssi, sub_filter};
use crate::slice;
use myriad_exchange::exchange::{Exchange, Filter, Filters};
use myriad_exchange::runtime::SettingsCompiler;

/// Compiles the settings of a level; `None` if the filter is off.
type CompileFilter = fn(&mut dyn SettingsCompiler, &Settings) -> Option<Box<dyn Filter<Exchange>>>;

/// Order of the filters: slices are joined first, and text filters run before the coding, which [`send`](crate::send)
/// applies. The rest is nginx's order, where the text of `addition` is added after all filters that change the page
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

/// Returns the filters of a level.
pub fn compiled(compiler: &mut dyn SettingsCompiler, settings: &Settings) -> Filters<Exchange> {
    Filters::new(ORDER.iter().filter_map(|compiled| compiled(compiler, settings)).collect())
}
