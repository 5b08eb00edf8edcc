//! `cache_device_class`: one variant of a page for each class of devices instead of for each `User-Agent`.

use myriad_conf::registry::{Contexts, Directive, DirectiveStatus, FLAG};
use myriad_conf::{feature_settings, set};
use myriad_http::Known;
use myriad_policy::DeviceClass as Class;

use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::Reads::FromField;
use myriad_exchange::runtime::RowValue::Ready;

/// Setting of `cache_device_class`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceClass {
    /// True if responses that vary by `User-Agent` have one variant for each device class.
    pub on: bool,
}

feature_settings!(DeviceClass);

/// Registration of the directive `cache_device_class` and the variable `$device_class`; listed in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("cache", ROWS).with_variables(VARIABLES);

static ROWS: &[Directive] = &[Directive::new(
    "cache_device_class",
    Contexts::HSL,
    FLAG,
    set!(Feature<DeviceClass>.flag => on),
    "Stores one variant per device class for responses that vary by User-Agent.",
)
.default("off")
.own()];

const VARIABLES: &[RequestVariable] = &[RequestVariable::new(
    "core",
    "device_class",
    &[FromField(Known::UserAgent)],
    Ready(|request| Some(Class::of(request.received.head.fields()).as_str().as_bytes())),
)
.with_status(DirectiveStatus::Own)];
