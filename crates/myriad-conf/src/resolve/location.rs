//! Resolution of `location`, `if` and `limit_except` blocks.

use super::{
    Builder, OpenLevel,
    default_settings::{apply_setting, defaults},
};
use crate::{
    diagnostic::Diagnostic,
    model::{IfBlock, LimitExcept, LocationConf, Matcher, RewriteStep},
    parsed::{Node, Word},
    registry::{Arguments, BlockKind, Contexts, Set, parse_condition},
    settings::{FeatureHandler, Handler, Settings},
    span::Span,
    text::Text,
};

/// Rewrite step at its position in the source. An `if` is resolved when the settings around it are complete.
pub(super) enum PendingRewrite<'n> {
    Step(RewriteStep),
    If(&'n Node),
}

/// Result of applying a directive; blocks must then be resolved by the caller.
pub(super) enum AppliedDirective {
    Settings,
    Step(RewriteStep),
    If,
    LimitExcept,
}

/// Applies a directive of a server, location or `if` to its settings, or parses it as a rewrite step; `if` and
/// `limit_except` blocks are only identified. Returns an error if the arguments are invalid.
pub(super) fn apply_or_step(
    settings: &mut Settings,
    args: &mut Arguments<'_>,
) -> Result<AppliedDirective, Diagnostic> {
    match args.directive.set {
        Set::Rewrite(read) => read(args).map(AppliedDirective::Step),
        Set::Block(BlockKind::If) => Ok(AppliedDirective::If),
        Set::Block(BlockKind::LimitExcept) => Ok(AppliedDirective::LimitExcept),
        _ => apply_setting(settings, args).map(|()| AppliedDirective::Settings),
    }
}

impl Builder<'_> {
    pub(super) fn steps(
        &mut self,
        pending: Vec<PendingRewrite<'_>>,
        around: &Settings,
        inside: Contexts,
    ) -> Vec<RewriteStep> {
        let step = |step| match step {
            PendingRewrite::Step(step) => Some(step),
            PendingRewrite::If(node) => {
                self.if_block(node, around, inside).map(|block| RewriteStep::If(Box::new(block)))
            }
        };
        pending.into_iter().filter_map(step).collect()
    }

    fn if_block(&mut self, node: &Node, around: &Settings, context: Contexts) -> Option<IfBlock> {
        let condition = self.note(parse_condition(node));
        let mut settings = without_try_files(around);
        let mut level = OpenLevel::new(context);
        let mut rewrite = Vec::new();
        let mut changes_settings = false;
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            let laid = apply_or_step(&mut settings, &mut args);
            match self.note(laid) {
                Some(AppliedDirective::Step(step)) => rewrite.push(step),
                Some(_) => changes_settings = true,
                None => {}
            }
        }
        self.examine_block(&settings, node.span);
        self.check_pass_uri(&settings, around);
        Some(IfBlock { condition: condition?, settings, changes_settings, rewrite, span: node.span })
    }

    pub(super) fn location(
        &mut self,
        node: &Node,
        around: &Settings,
        parent: Option<(Matcher, &Text)>,
    ) -> Option<LocationConf> {
        let read = read_matcher(node).and_then(|(matcher, pattern)| {
            check_nesting(matcher, &pattern, parent)?;
            Ok((matcher, pattern))
        });
        let known = self.note(read);
        let (matcher, pattern) = known.clone().unwrap_or((Matcher::Prefix, Text::default()));
        let mut location = LocationConf {
            matcher,
            pattern,
            settings: without_try_files(around),
            rewrite: Vec::new(),
            locations: Vec::new(),
            limit_except: None,
            span: node.span,
        };
        location.settings.handler = None;
        self.location_body(node, &mut location);
        known.map(|_| location)
    }

    fn location_body(&mut self, node: &Node, location: &mut LocationConf) {
        let mut level = OpenLevel::new(Contexts::LOCATION);
        let (mut steps, mut locations, mut limit_except) = (Vec::new(), Vec::new(), None);
        let mut alias = None;
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            if let Set::Block(BlockKind::Location) = args.directive.set {
                locations.push(node);
                continue;
            }
            if args.directive.name == "alias" {
                alias = Some(node);
            }
            let laid = apply_or_step(&mut location.settings, &mut args);
            match self.note(laid) {
                Some(AppliedDirective::Step(step)) => steps.push(PendingRewrite::Step(step)),
                Some(AppliedDirective::If) => steps.push(PendingRewrite::If(node)),
                Some(AppliedDirective::LimitExcept) => limit_except = Some(node),
                Some(AppliedDirective::Settings) | None => {}
            }
        }
        if let Some(alias) = alias {
            self.alias(alias, location);
        }
        if let Some(Handler::Origin { prefix, .. } | Handler::Feature(FeatureHandler { prefix, .. })) =
            &mut location.settings.handler
            && matches!(location.matcher, Matcher::Exact | Matcher::Prefix | Matcher::PrefixNoRegex)
        {
            prefix.clone_from(&location.pattern);
        }
        self.examine_block(&location.settings, location.span);
        location.limit_except = limit_except.and_then(|node| self.limit_except(node, &location.settings));
        for examine in self.registry.location_examinations() {
            examine(location, &mut self.findings);
        }
        self.hint_at_origin(location);
        if matches!(location.matcher, Matcher::Regex { .. } | Matcher::Named) {
            self.check_pass_uri(&location.settings, defaults(self.registry));
        }
        location.rewrite = self.steps(steps, &location.settings, Contexts::LOCATION_IF);
        for node in locations {
            let inner = self.location(node, &location.settings, Some((location.matcher, &location.pattern)));
            location.locations.extend(inner);
        }
        self.check_locations(&location.locations);
    }

    fn examine_block(&mut self, settings: &Settings, at: Span) {
        for examine in self.registry.block_examinations() {
            examine(settings, at, &mut self.findings);
        }
    }

    fn alias(&mut self, node: &Node, location: &mut LocationConf) {
        let content = &mut location.settings.content;
        match location.matcher {
            Matcher::Named => {
                let message = "the \"alias\" directive cannot be used inside the named location";
                self.findings.push(Diagnostic::error(node.span, message));
            }
            Matcher::Regex { .. } => {
                content.alias_prefix_len = None;
                if !content.root.has_variables() && content.try_files.is_none() {
                    let message =
                        "\"alias\" without captures in a regex location serves one path for every URI";
                    self.findings.push(
                        Diagnostic::warning(node.span, message).help("use a capture such as $1, or \"root\""),
                    );
                }
            }
            Matcher::Exact | Matcher::Prefix | Matcher::PrefixNoRegex => {
                content.alias_prefix_len = Some(location.pattern.value.len());
            }
        }
    }

    fn limit_except(&mut self, node: &Node, around: &Settings) -> Option<LimitExcept> {
        let mut methods = Vec::new();
        for word in &node.args {
            let method = String::from_utf8_lossy(&word.text).to_ascii_uppercase();
            if !METHODS.contains(&method.as_str()) {
                let message = format!("invalid method \"{}\"", String::from_utf8_lossy(&word.text));
                self.findings.push(Diagnostic::error(word.span, message));
                return None;
            }
            if method == "GET" {
                methods.push("HEAD".to_owned());
            }
            methods.push(method);
        }
        let mut settings = around.within();
        let mut level = OpenLevel::new(Contexts::LIMIT_EXCEPT);
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            let done = apply_setting(&mut settings, &mut args);
            self.note(done);
        }
        self.check_pass_uri(&settings, around);
        Some(LimitExcept { methods, settings, span: node.span })
    }
}

/// Returns the settings with which a location or `if` starts: those of the enclosing block, but without `try_files`,
/// which is not inherited, as in nginx.
fn without_try_files(around: &Settings) -> Settings {
    let mut settings = around.within();
    // Writing to a shared group of settings copies it. Most levels have no `try_files` and can keep sharing the group.
    if settings.content.try_files.is_some() {
        settings.content.try_files = None;
    }
    settings
}

/// Methods that `limit_except` accepts.
const METHODS: [&str; 15] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "MKCOL",
    "COPY",
    "MOVE",
    "OPTIONS",
    "PROPFIND",
    "PROPPATCH",
    "LOCK",
    "UNLOCK",
    "PATCH",
    "TRACE",
];

/// Parses `[= | ~ | ~* | ^~] pattern`, with the modifier as a separate word or at the start of the pattern, or `@name`.
/// Returns an error for an unknown modifier, or without a pattern.
fn read_matcher(node: &Node) -> Result<(Matcher, Text), Diagnostic> {
    let matcher = |modifier: &[u8]| match modifier {
        b"=" => Some(Matcher::Exact),
        b"^~" => Some(Matcher::PrefixNoRegex),
        b"~" => Some(Matcher::Regex { caseless: false }),
        b"~*" => Some(Matcher::Regex { caseless: true }),
        _ => None,
    };
    let (matcher, pattern) = match node.args.as_slice() {
        [modifier, pattern] => {
            let found = matcher(&modifier.text).ok_or_else(|| {
                let name = String::from_utf8_lossy(&modifier.text);
                Diagnostic::error(modifier.span, format!("invalid location modifier \"{name}\""))
                    .help("the modifiers are =, ^~, ~ and ~*")
            })?;
            (found, pattern.to_text())
        }
        [word, ..] => split_glued(word),
        [] => return Err(Diagnostic::error(node.span, "a location requires a pattern")),
    };
    Ok((matcher, pattern))
}

fn split_glued(word: &Word) -> (Matcher, Text) {
    let text = |bytes: &[u8]| Text::new(bytes, word.span);
    match word.text.as_slice() {
        [b'=', rest @ ..] => (Matcher::Exact, text(rest)),
        [b'^', b'~', rest @ ..] => (Matcher::PrefixNoRegex, text(rest)),
        [b'~', b'*', rest @ ..] => (Matcher::Regex { caseless: true }, text(rest)),
        [b'~', rest @ ..] => (Matcher::Regex { caseless: false }, text(rest)),
        [b'@', ..] => (Matcher::Named, text(&word.text)),
        plain => (Matcher::Prefix, text(plain)),
    }
}

fn check_nesting(
    matcher: Matcher,
    pattern: &Text,
    parent: Option<(Matcher, &Text)>,
) -> Result<(), Diagnostic> {
    let Some((outer, around)) = parent else { return Ok(()) };
    let error = |message: String| Err(Diagnostic::error(pattern.span, message));
    let (inner_name, outer_name) = (pattern.lossy(), around.lossy());
    match outer {
        Matcher::Exact => {
            return error(format!(
                "location \"{inner_name}\" cannot be inside the exact location \"{outer_name}\""
            ));
        }
        Matcher::Named => {
            return error(format!(
                "location \"{inner_name}\" cannot be inside the named location \"{outer_name}\""
            ));
        }
        Matcher::Prefix | Matcher::PrefixNoRegex | Matcher::Regex { .. } => {}
    }
    match matcher {
        Matcher::Named => error(format!("named location \"{inner_name}\" can be on the server level only")),
        Matcher::Regex { .. } => Ok(()),
        _ if pattern.value.starts_with(&around.value) => Ok(()),
        _ => error(format!("location \"{inner_name}\" is outside location \"{outer_name}\"")),
    }
}
