//! Resolution of `http`, `server` and `upstream` blocks.

use super::{
    Builder, OpenLevel,
    default_settings::{self, apply_setting},
    location::{AppliedDirective, PendingRewrite, apply_or_step},
};
use crate::{
    diagnostic::Diagnostic,
    model::{Balance, HttpConf, ServerConf, Sticky, UpstreamConf},
    parsed::Node,
    registry::{BlockKind, Contexts, Set},
    settings::Settings,
};

impl Builder<'_> {
    pub(super) fn http(&mut self, node: &Node) -> HttpConf {
        let mut http = HttpConf::bare(self.registry);
        let mut level = OpenLevel::new(Contexts::HTTP);
        let (mut servers, mut upstreams) = (Vec::new(), Vec::new());
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            match args.directive.set {
                Set::Http(set) => {
                    let done = set(&mut http, &mut args);
                    self.note(done);
                }
                Set::Rewrite(read) => {
                    let step = read(&mut args);
                    http.idle_steps.extend(self.note(step));
                }
                Set::Block(BlockKind::Server) => servers.push(node),
                Set::Block(BlockKind::AcmeIssuer) => {
                    let issuer = self.acme_issuer(node, &http);
                    http.acme_issuers.extend(issuer);
                }
                Set::Block(BlockKind::Upstream) => upstreams.push(node),
                _ => {
                    let done = apply_setting(&mut http.settings, &mut args);
                    self.note(done);
                }
            }
        }
        for node in upstreams {
            let upstream = self.upstream(node, &http, Contexts::UPSTREAM);
            http.upstreams.extend(upstream);
        }
        http.servers = servers.into_iter().map(|node| self.server(node, &http.settings)).collect();
        http
    }

    fn server(&mut self, node: &Node, around: &Settings) -> ServerConf {
        let mut server = default_settings::server(self.registry, around, node.name.span);
        let mut level = OpenLevel::new(Contexts::SERVER);
        let mut steps = Vec::new();
        let mut locations = Vec::new();
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            match args.directive.set {
                Set::Server(set) => {
                    let done = set(&mut server, &mut args);
                    self.note(done);
                }
                Set::Block(BlockKind::Location) => locations.push(node),
                _ => {
                    let laid = apply_or_step(&mut server.settings, &mut args);
                    match self.note(laid) {
                        Some(AppliedDirective::Step(step)) => steps.push(PendingRewrite::Step(step)),
                        Some(AppliedDirective::If) => steps.push(PendingRewrite::If(node)),
                        _ => {}
                    }
                }
            }
        }
        if server.settings.tls.on {
            server.listens.iter_mut().filter(|listen| !listen.quic).for_each(|listen| listen.ssl = true);
        }
        let obeyed = server.settings.tls.apply_openssl_commands();
        self.note(obeyed);
        server.rewrite = self.steps(steps, &server.settings, Contexts::SERVER_IF);
        for node in locations {
            let location = self.location(node, &server.settings, None);
            server.locations.extend(location);
        }
        self.check_locations(&server.locations);
        server
    }

    /// Resolves an `upstream` block. `http` is the block that contains it (`http` or `stream`). Returns `None` for a
    /// duplicate name.
    pub(super) fn upstream(
        &mut self,
        node: &Node,
        http: &HttpConf,
        context: Contexts,
    ) -> Option<UpstreamConf> {
        let name = String::from_utf8_lossy(&node.args[0].text).into_owned();
        let mut upstream = UpstreamConf::bare(self.registry, name.clone(), node.span);
        upstream.settings = http.settings.within();
        upstream.of_stream = context == Contexts::STREAM_UPSTREAM;
        let mut level = OpenLevel::new(context);
        let errors = self.findings.len();
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            let done = match args.directive.set {
                Set::Upstream(set) => set(&mut upstream, &mut args),
                _ => apply_setting(&mut upstream.settings, &mut args),
            };
            self.note(done);
        }
        if let Some(other) = http.upstreams.iter().find(|other| other.name == name) {
            let message = format!("duplicate upstream \"{name}\"");
            self.findings
                .push(Diagnostic::error(node.span, message).related(other.span, "first defined here"));
            return None;
        }
        self.check_state(&upstream, node);
        if upstream.servers.is_empty() && upstream.state.is_none() && self.findings.len() == errors {
            self.findings
                .push(Diagnostic::error(node.span, format!("no servers are inside upstream \"{name}\"")));
        }
        if !upstream.servers.is_empty() && upstream.servers.iter().all(|server| server.backup) {
            let message = format!("all servers inside upstream \"{name}\" are backups");
            self.findings.push(Diagnostic::error(node.span, message));
        }
        self.check_slow_start(&upstream);
        self.check_sessions(&upstream, http);
        Some(upstream)
    }

    /// Checks that an upstream group with `state` has no `server` directives and has a `zone`, as in NGINX Plus.
    fn check_state(&mut self, upstream: &UpstreamConf, node: &Node) {
        if upstream.state.is_none() {
            return;
        }
        if let Some(server) = upstream.servers.first() {
            let message = "\"state\" and \"server\" are mutually exclusive: the state file lists all servers of the group";
            self.findings.push(Diagnostic::error(server.name.span, message));
        }
        if upstream.zone.is_none() {
            let message = format!("\"state\" requires upstream \"{}\" to have a \"zone\"", upstream.name);
            self.findings
                .push(Diagnostic::error(node.span, message).help("write zone NAME 64k; into its block"));
        }
    }

    /// Checks that each zone of `sticky learn` belongs to one upstream group, as in nginx.
    fn check_sessions(&mut self, upstream: &UpstreamConf, http: &HttpConf) {
        let zone = |upstream: &UpstreamConf| match &upstream.sticky {
            Some(Sticky::Learn(learn)) => Some(learn.zone.clone()),
            _ => None,
        };
        let Some(own) = zone(upstream) else { return };
        let other = http.upstreams.iter().find(|other| zone(other).as_ref() == Some(&own));
        if let Some(other) = other {
            let message = format!("sticky zone \"{own}\" is already used in upstream \"{}\"", other.name);
            let error = Diagnostic::error(upstream.span, message).help("use a separate zone for each group");
            self.findings.push(error.related(other.span, "first used here"));
        }
    }

    /// Rejects `slow_start` with a balancing method by key or at random, as in NGINX Plus.
    fn check_slow_start(&mut self, upstream: &UpstreamConf) {
        let knows_shares = matches!(
            upstream.balance,
            Balance::RoundRobin | Balance::LeastConnections | Balance::LeastTime { .. }
        );
        let slow = upstream.servers.iter().find(|server| server.slow_start > 0);
        if let Some(server) = slow.filter(|_| !knows_shares) {
            let message = "balancing method does not support parameter \"slow_start\"";
            let help = "remove it, or use round robin, least_conn or least_time";
            self.findings.push(Diagnostic::error(server.name.span, message).help(help));
        }
    }
}
