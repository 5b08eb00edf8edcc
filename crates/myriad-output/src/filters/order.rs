//! The filters that there are, in the order in which they are asked.

use myriad_conf::settings::Settings;

use super::{addition, charset, gunzip, ssi, sub_filter};
use crate::slice;
use myriad_exchange::exchange::{Exchange, Filter, Filters};
use myriad_exchange::runtime::SettingsCompiler;

/// Compiles the settings of a level; none where the filter is off there.
type Compiled = fn(&mut dyn SettingsCompiler, &Settings) -> Option<Box<dyn Filter<Exchange>>>;

/// The order: a whole is made of its pieces before anything else, and whatever changes text comes before the coding, which
/// [`send`](crate::send) sees to. That of the others is nginx's, where
/// what `addition` asks for stands in the page behind all that changes the page itself.
const ORDER: [Compiled; 6] = [
    slice::compiled,
    gunzip::compiled,
    sub_filter::compiled,
    charset::compiled,
    ssi::compiled,
    addition::compiled,
];

/// The filters of a level.
pub fn compiled(compiler: &mut dyn SettingsCompiler, settings: &Settings) -> Filters<Exchange> {
    Filters::new(ORDER.iter().filter_map(|compiled| compiled(compiler, settings)).collect())
}
