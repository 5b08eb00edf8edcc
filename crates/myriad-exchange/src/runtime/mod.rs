//! The site as it runs: immutable, shared by all workers, replaced whole by a reload.

mod acme;
mod atlas;
mod cache_place;
mod caches;
mod error_pages;
mod expires;
mod file_place;
mod headers;
mod https_only;
mod ids;
mod listener;
mod offer;
mod origin_group;
mod origin_place;
mod origin_protocol;
mod origin_rules;
mod origin_tls;
mod passing;
mod place;
mod place_features;
mod proxied;
mod real_ip;
mod request_rules;
mod settings_compiler;
mod shortcut;
mod site;
mod sticky;
mod variable;
mod variable_registry;
mod who;

pub use acme::{AcmePlan, PlannedStaple};
pub use atlas::{Atlas, Label};
pub use cache_place::{CachePlace, PurgeRules, PurgeWhen, ServerPurge};
pub use caches::{Caches, NamedCaches};
pub use error_pages::{ErrorPage, ErrorTarget};
pub use expires::Expires;
pub use file_place::{Candidate, FilePlace, Rooting, Symlinks, TryFiles};
pub use headers::{AddField, DebugRules, HeaderRules};
pub use https_only::HttpsOnly;
pub use ids::{PlaceId, ServerId};
pub use listener::{Hosts, Listener};
pub use myriad_conf::settings::Network;
pub use offer::{Offer, OfferRules};
pub use origin_group::OriginGroup;
pub use origin_place::{OriginPlace, StoreRules, Target};
pub use origin_protocol::{MakeError, OriginProtocol, ProtocolRequest};
pub use origin_rules::{AheadRules, AnswerRules, FetchRules};
pub use origin_tls::{NamedPair, OriginTlsPlace};
pub use place::{
    BodyRules, ConnectionRules, EntryRules, ErrorRules, KeepAliveRules, LimitExcept, LogRules, Place, Rates,
    RedirectRules, RewriteRules, UploadRules,
};
pub use place_features::PlaceFeatures;
pub use proxied::Proxied;
pub use real_ip::{RealIp, RealIpSource};
pub use request_rules::RequestRules;
pub use settings_compiler::{SettingsCompiler, Shared};
pub use shortcut::{FieldRead, Shortcut};
pub use site::{Runtime, Server, ServerTls};
pub use sticky::{StickyCookiePlace, StickyLearnPlace, StickyPlace};
pub use variable::{Borrowed, NamedValue, Reads, Rest, Value, VariableRef, VariableRow};
pub use variable_registry::VariableRegistry;
pub use who::{ResolverPlace, Who};
