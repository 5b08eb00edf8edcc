//! Defaults of all directives. Each default is parsed as if it were written in the configuration and applied by the
//! setter of its directive, so that it cannot differ from the documentation.

use crate::{
    model::{AcmeIssuerConf, HttpConf, MainConf, ServerConf, UpstreamConf},
    registry::{Arguments, Registry, Set, SetterResult},
    settings::Settings,
    span::Span,
    text::Text,
};

/// Returns the settings of `http` in an empty configuration: the defaults of all directives.
pub fn defaults(registry: &Registry) -> &Settings {
    registry.outermost.get_or_init(|| {
        let mut settings = Settings::blank(registry.protocols());
        lay_defaults(registry, |args| apply_setting(&mut settings, args));
        settings
    })
}

/// Applies a directive that changes settings of a level; other directives are ignored.
pub(super) fn apply_setting(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    match args.directive.set {
        Set::Settings(set) => set(settings, args),
        Set::Origin(set) => set(settings.origin_mut(args.protocol()), args),
        _ => Ok(()),
    }
}

pub(super) fn main_conf(registry: &Registry) -> MainConf {
    let mut main = MainConf::default();
    lay_defaults(registry, |args| match args.directive.set {
        Set::Main(set) => set(&mut main, args),
        _ => Ok(()),
    });
    main
}

impl HttpConf {
    /// Creates the model of an empty `http` block.
    pub fn bare(registry: &Registry) -> Self {
        let mut http = Self {
            settings: defaults(registry).clone(),
            servers: Vec::new(),
            cache_zones: Vec::new(),
            acme_issuers: Vec::new(),
            maps: Vec::new(),
            geos: Vec::new(),
            split_clients: Vec::new(),
            idle_steps: Vec::new(),
            upstreams: Vec::new(),
            log_formats: Vec::new(),
        };
        lay_defaults(registry, |args| match args.directive.set {
            Set::Http(set) => set(&mut http, args),
            _ => Ok(()),
        });
        http.log_formats.push(crate::registry::json_format());
        http
    }
}

/// Creates the model of an empty `server` block. `around` are the settings of the block that contains it.
pub(super) fn server(registry: &Registry, around: &Settings, span: Span) -> ServerConf {
    let mut server = ServerConf {
        listens: Vec::new(),
        names: Vec::new(),
        primary_name: Text::default(),
        acme: None,
        settings: around.within(),
        rewrite: Vec::new(),
        locations: Vec::new(),
        span,
    };
    lay_defaults(registry, |args| match args.directive.set {
        Set::Server(set) => set(&mut server, args),
        _ => Ok(()),
    });
    server
}

impl UpstreamConf {
    /// Creates the model of an empty `upstream` block called `name`.
    pub fn bare(registry: &Registry, name: String, span: Span) -> Self {
        let mut upstream = Self {
            name,
            servers: Vec::new(),
            balance: <_>::default(),
            hash_key: None,
            keepalive: None,
            keepalive_requests: 0,
            keepalive_timeout: 0,
            keepalive_time: 0,
            queue: None,
            sticky: None,
            zone: None,
            state: None,
            of_stream: false,
            settings: defaults(registry).within(),
            span,
        };
        lay_defaults(registry, |args| match args.directive.set {
            Set::Upstream(set) => set(&mut upstream, args),
            _ => Ok(()),
        });
        upstream
    }
}

pub(super) fn acme_issuer(registry: &Registry, name: String, span: Span) -> AcmeIssuerConf {
    let mut issuer = AcmeIssuerConf::new(name, span);
    lay_defaults(registry, |args| match args.directive.set {
        Set::AcmeIssuer(set) => set(&mut issuer, args),
        _ => Ok(()),
    });
    issuer
}

fn lay_defaults(registry: &Registry, mut lay: impl FnMut(&mut Arguments<'_>) -> SetterResult) {
    for (directive, node) in registry.defaults() {
        let (mut uses, mut warnings) = (Vec::new(), Vec::new());
        let mut args = Arguments { node, directive, first: true, uses: &mut uses, warnings: &mut warnings };
        let done = lay(&mut args);
        // Limits and protections depend on the defaults, so aborting is safer than running without one.
        assert!(done.is_ok() && warnings.is_empty(), "the default of \"{}\" is invalid", directive.name);
    }
}
