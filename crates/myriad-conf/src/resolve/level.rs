//! Checks of each directive on a level: known name, context, number of arguments, repetition.

use std::collections::HashMap;

use super::builder::Builder;
use super::survey::MAX_FINDINGS;
use crate::{
    diagnostic::Diagnostic,
    parsed::{Node, Word},
    registry::{
        Arguments, Arity, BuildFeature, Contexts, Directive, DirectiveStatus, KnownDirective, NOT_YET,
        Registry, known,
    },
    settings::tls_display_name,
    span::Span,
};

/// Block whose directives are being read.
pub(super) struct OpenLevel<'r> {
    pub(super) context: Contexts,
    /// Position of the first occurrence of each directive, or of each group of directives.
    seen: HashMap<&'r str, Span>,
}

impl OpenLevel<'_> {
    pub(super) fn new(context: Contexts) -> Self {
        Self { context, seen: HashMap::new() }
    }
}

impl<'p> Builder<'p> {
    /// Looks up a directive and checks its context, number of arguments and repetition. Returns `None` after an error,
    /// which is recorded. Warns if an argument is probably a directive after a missing `;`.
    pub(super) fn accept<'a>(
        &'a mut self,
        node: &'a Node,
        level: &mut OpenLevel<'p>,
    ) -> Option<Arguments<'a>> {
        // With that many errors, the file is probably in another language, and searching for similar names would be
        // wasted work.
        let suggests = self.findings.len() < MAX_FINDINGS;
        let registry = self.registry;
        let directive = match find(registry, node, level.context, suggests) {
            Ok(directive) => directive,
            Err(diagnostic) => {
                self.findings.push(*diagnostic);
                return None;
            }
        };
        if let Err(diagnostic) = check_arity(registry, node, directive) {
            self.findings.push(*diagnostic);
            return None;
        }
        if directive.arity.max == usize::MAX {
            self.swallowed_line(node);
        }
        let counted_as = directive.group_or_name();
        if let Some(&first) = level.seen.get(counted_as)
            && !directive.repeats
        {
            self.findings.push(
                Diagnostic::error(node.span, format!("\"{}\" directive is duplicate", directive.name))
                    .related(first, "first written here"),
            );
            return None;
        }
        let first = !level.seen.contains_key(counted_as);
        level.seen.entry(counted_as).or_insert(node.span);
        Some(Arguments { node, directive, first, uses: &mut self.uses, warnings: &mut self.findings })
    }
}

impl Builder<'_> {
    /// Warns about the first argument that is at the start of a line and is the name of a directive: a `;` is probably
    /// missing before it. Called for directives without a maximum number of arguments.
    fn swallowed_line(&mut self, node: &Node) {
        let begins_line = |span: Span| {
            let before =
                self.parsed.source(span.file).and_then(|source| source.bytes.get(..span.start as usize));
            let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
            before.is_some_and(|bytes| bytes.iter().rev().find(|byte| !is_blank(byte)) == Some(&b'\n'))
        };
        let swallowed =
            node.args.iter().find(|word| is_directive(self.registry, word) && begins_line(word.span));
        if let Some(word) = swallowed {
            let name = String::from_utf8_lossy(&word.text);
            let message = format!("\"{name}\" is parsed as an argument of the previous directive");
            let finding =
                Diagnostic::warning(word.span, message).help(format!("is a `;` missing before \"{name}\"?"));
            self.findings.push(finding);
        }
    }
}

/// Returns the row of a directive in this context; an error if the name is unknown, unsupported, or not allowed in the
/// context. The error for an unknown name suggests a similar name if `suggests` is true. The error is boxed, because it
/// is rare and large.
fn find<'r>(
    registry: &'r Registry,
    node: &Node,
    context: Contexts,
    suggests: bool,
) -> Result<&'r Directive, Box<Diagnostic>> {
    let name = String::from_utf8_lossy(&node.name.text);
    let rows = registry.rows_named(&name);
    let here = rows.clone().find(|row| row.contexts.contains(context));
    let Some(row) = here.or(rows.clone().next()) else {
        return Err(Box::new(unknown(registry, node, &tls_display_name(&node.name.text), suggests)));
    };
    if let DirectiveStatus::Refused(reason) = row.status {
        let message = format!("\"{name}\" is a known directive, not supported by Myriad: {reason}");
        return Err(Box::new(Diagnostic::error(node.name.span, message)));
    }
    if row.contexts.contains(context) {
        return Ok(row);
    }
    let mut diagnostic =
        Diagnostic::error(node.name.span, format!("\"{name}\" directive is not allowed here")).misplaced();
    for row in rows {
        diagnostic = diagnostic.help(format!("it is allowed in: {}; this is: {context}", row.contexts));
    }
    Err(Box::new(diagnostic))
}

/// Returns the error for a known but unsupported directive. Errors about the same module have a common cause, except
/// for the reason [`NOT_YET`].
fn refusal(name: &str, span: Span, known: KnownDirective) -> Diagnostic {
    let KnownDirective { module, reason, .. } = known;
    if reason == NOT_YET {
        return Diagnostic::error(span, format!("\"{name}\" is a directive of {module}, {reason}"));
    }
    let message = format!("\"{name}\" is a directive of {module}, not supported by Myriad: {reason}");
    Diagnostic::error(span, message).cause(module)
}

fn unknown(registry: &Registry, node: &Node, name: &str, suggests: bool) -> Diagnostic {
    let span = node.name.span;
    if let Some(feature) = BuildFeature::missing_for_directive(name) {
        return Diagnostic::error(span, format!("\"{name}\": {}", feature.refusal)).cause(feature.refusal);
    }
    if let Some(known) = known(name) {
        return refusal(name, span, known);
    }
    let diagnostic = Diagnostic::error(span, format!("unknown directive \"{name}\""));
    let near = if suggests { registry.nearest_directive(&name.to_ascii_lowercase()) } else { None };
    match near {
        Some(near) => diagnostic.help(format!("did you mean \"{near}\"?")),
        None if node.name.quoted => diagnostic.help("remove the quotes around the directive name"),
        None => diagnostic,
    }
}

fn check_arity(registry: &Registry, node: &Node, directive: &Directive) -> Result<(), Box<Diagnostic>> {
    let Arity { min, max, block, .. } = directive.arity;
    let name = &directive.name;
    if block && node.block.is_none() {
        let message = format!("directive \"{name}\" has no opening \"{{\"");
        return Err(Box::new(Diagnostic::error(node.span, message)));
    }
    if !block && node.block.is_some() {
        let message = format!("directive \"{name}\" is not terminated by \";\"");
        return Err(Box::new(missing_semicolon(
            registry,
            node,
            Diagnostic::error(node.span, message).help("it takes no block"),
        )));
    }
    let count = node.args.len();
    if (min..=max).contains(&count) {
        return Ok(());
    }
    let takes = match (min, max) {
        (0, 0) => "no arguments".to_owned(),
        (min, usize::MAX) => format!("at least {min}"),
        (min, max) if min == max => format!("{min}"),
        (min, max) => format!("{min} to {max}"),
    };
    let message = format!("invalid number of arguments in \"{name}\" directive");
    let diagnostic = Diagnostic::error(node.span, message).help(format!("it takes {takes}, found {count}"));
    Err(Box::new(if count > max { missing_semicolon(registry, node, diagnostic) } else { diagnostic }))
}

/// Adds the advice that a `;` may be missing before an argument, if an argument is the name of a directive.
fn missing_semicolon(registry: &Registry, node: &Node, diagnostic: Diagnostic) -> Diagnostic {
    match node.args.iter().find(|word| is_directive(registry, word)) {
        Some(word) => {
            diagnostic.help(format!("is a `;` missing before \"{}\"?", String::from_utf8_lossy(&word.text)))
        }
        None => diagnostic,
    }
}

fn is_directive(registry: &Registry, word: &Word) -> bool {
    !word.quoted && std::str::from_utf8(&word.text).is_ok_and(|name| registry.is_known(name))
}
