//! `cache_device_class`: variants by classes of devices instead of by `User-Agent`.

use myriad_conf::registry::{Contexts, Directive, FLAG};
use myriad_conf::{feature_settings, set};
use myriad_exchange::feature::Feature;

/// `cache_device_class` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceClass {
    /// Whether what varies by `User-Agent` has one variant for each class of device.
    pub on: bool,
}

feature_settings!(DeviceClass);

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("cache", ROWS);

static ROWS: &[Directive] = &[Directive::new(
    "cache_device_class",
    Contexts::HSL,
    FLAG,
    set!(Feature<DeviceClass>.flag => on),
    "Whether what varies by User-Agent has one variant for each class of device.",
)
.default("off")
.own()];
