//! Resolution of the `stream` block: TCP and UDP servers.

use super::{
    Builder, OpenLevel,
    checks::Endpoint,
    default_settings::{self, apply_setting},
};
use crate::{
    diagnostic::Diagnostic,
    model::{HttpConf, ServerConf},
    parsed::Node,
    registry::{BlockKind, Contexts, Set},
    settings::Settings,
};

/// Name of the log format that an `access_log` without one uses. `stream` does not predefine it.
const UNNAMED_FORMAT: &str = "combined";

impl Builder<'_> {
    pub(super) fn stream(&mut self, node: &Node) -> HttpConf {
        let mut stream = HttpConf::bare(self.registry);
        // nginx has no predefined format and no default access log in `stream`.
        stream.log_formats.clear();
        stream.settings.log.access.clear();
        let of_http = std::mem::take(&mut self.uses);
        let mut level = OpenLevel::new(Contexts::STREAM);
        let (mut servers, mut upstreams) = (Vec::new(), Vec::new());
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            match args.directive.set {
                Set::Http(set) => {
                    let done = set(&mut stream, &mut args);
                    self.note(done);
                }
                Set::Block(BlockKind::Server) => servers.push(node),
                Set::Block(BlockKind::Upstream) => upstreams.push(node),
                _ => {
                    let done = apply_setting(&mut stream.settings, &mut args);
                    self.note(done);
                }
            }
        }
        for node in upstreams {
            let upstream = self.upstream(node, &stream, Contexts::STREAM_UPSTREAM);
            stream.upstreams.extend(upstream);
        }
        stream.servers = servers.into_iter().map(|node| self.stream_server(node, &stream.settings)).collect();
        // Names in `http` and `stream` are separate, so those of `stream` are checked now.
        self.check_uses(&stream, "stream");
        self.uses = of_http;
        stream
    }

    fn stream_server(&mut self, node: &Node, around: &Settings) -> ServerConf {
        let mut server = default_settings::server(self.registry, around, node.name.span);
        let mut level = OpenLevel::new(Contexts::STREAM_SERVER);
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            let done = match args.directive.set {
                Set::Server(set) => set(&mut server, &mut args),
                _ => apply_setting(&mut server.settings, &mut args),
            };
            self.note(done);
        }
        let obeyed = server.settings.tls.apply_openssl_commands();
        self.note(obeyed);
        server
    }

    /// Checks the complete `stream` block: its servers must have `listen` with addresses that `http` does not use, and
    /// valid names and certificates; each `access_log` must name a log format.
    pub(super) fn check_stream(&mut self, stream: &HttpConf, http: Option<&HttpConf>) {
        self.check_servers(stream);
        for server in stream.servers.iter().filter(|server| server.listens.is_empty()) {
            let message = "no \"listen\" is defined for server in stream";
            self.findings.push(Diagnostic::error(server.span, message));
        }
        let of_http = || http.into_iter().flat_map(|http| &http.servers).flat_map(|server| &server.listens);
        for listen in stream.servers.iter().flat_map(|server| &server.listens) {
            let same = of_http()
                .find(|other| Endpoint::of(other) == Endpoint::of(listen) || other.shares_socket(listen));
            if let Some(same) = same {
                let message =
                    format!("address {} is used by both http and stream", Endpoint::of(listen).show());
                self.findings
                    .push(Diagnostic::error(listen.span, message).related(same.span, "used by http here"));
            }
        }
        let is_unnamed = |name: &str| {
            name == UNNAMED_FORMAT && !stream.log_formats.iter().any(|format| format.name == UNNAMED_FORMAT)
        };
        for log in stream.levels().into_iter().flat_map(|level| &level.log.access) {
            if is_unnamed(&log.format) && !self.findings.iter().any(|found| found.span == log.path.span) {
                self.findings.push(
                    Diagnostic::error(log.path.span, "log format is not specified")
                        .help("write the name of a \"log_format\" of the stream block after the path"),
                );
            }
        }
    }
}
