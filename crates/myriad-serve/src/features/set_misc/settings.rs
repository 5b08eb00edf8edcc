//! Settings of `set_base32_*` and `upstream_list`, which are not rewrite steps.

use myriad_script::functions::base32::Base32;
use myriad_script::functions::upstream_list::UpstreamList;

/// `set_base32_*` of a level.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Base32Settings(pub Base32);

/// `upstream_list` of a level, including those inherited from enclosing levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UpstreamListSettings(pub Vec<UpstreamList>);

myriad_conf::feature_settings!(Base32Settings);
myriad_conf::feature_settings!(UpstreamListSettings);
