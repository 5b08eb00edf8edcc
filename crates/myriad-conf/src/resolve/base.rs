//! The outermost level: what holds where nothing is written. The defaults of the rows are read as if they stood there, each by the
//! setter of its row, so that none can differ from its documentation.

use crate::{
    model::{AcmeIssuerConf, HttpConf, MainConf, ServerConf, UpstreamConf},
    registry::{Arguments, Done, Registry, Set},
    settings::Settings,
    span::Span,
    text::Text,
};

/// The settings of a configuration that says nothing: what `http` begins with.
pub fn defaults(registry: &Registry) -> &Settings {
    registry.outermost.get_or_init(|| {
        let mut settings = Settings::blank(registry.protocols());
        lay_defaults(registry, |args| lay(&mut settings, args));
        settings
    })
}

/// Lays a plain directive over the settings of its level.
pub(super) fn lay(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
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
    /// An `http` block that says nothing.
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

/// A `server` within those settings.
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
    /// A group whose block says nothing.
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

fn lay_defaults(registry: &Registry, mut lay: impl FnMut(&mut Arguments<'_>) -> Done) {
    for (directive, node) in registry.defaults() {
        let (mut uses, mut warnings) = (Vec::new(), Vec::new());
        let mut args = Arguments { node, directive, first: true, uses: &mut uses, warnings: &mut warnings };
        let done = lay(&mut args);
        // Limits and what protects visitors stand on these texts: a start without one of them would be worse than none.
        assert!(done.is_ok() && warnings.is_empty(), "the default of \"{}\" is none", directive.name);
    }
}
